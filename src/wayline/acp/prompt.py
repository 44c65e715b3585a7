"""A prompt's content blocks as the log keeps them."""

from collections.abc import Sequence
from typing import assert_never

from wayline.acp.schema import (
    EmbeddedResource,
    PromptAudio,
    PromptImage,
    PromptText,
    ResourceLink,
)
from wayline.log.content import Image, Text
from wayline.wire.errors import InvalidParams

Block = PromptText | PromptImage | PromptAudio | ResourceLink | EmbeddedResource


def content(blocks: Sequence[Block], takes_images: bool) -> tuple[Text | Image, ...]:
    """The blocks as text and images, in order. Raises `InvalidParams` for what cannot be taken."""
    kept = tuple(_block(block, index, takes_images) for index, block in enumerate(blocks))
    if not any(isinstance(block, Image) or block.text.strip() for block in kept):
        raise InvalidParams("the prompt is empty", path="params.prompt")
    return kept


def _block(block: Block, index: int, takes_images: bool) -> Text | Image:
    path = f"params.prompt[{index}]"
    match block:
        case PromptText(text=text):
            return Text(text)
        case ResourceLink(name=name, uri=uri):
            return Text(f"[{name}]({uri})")
        case EmbeddedResource(resource=resource) if resource.text is not None:
            return Text(f'<resource uri="{resource.uri}">\n{resource.text}\n</resource>')
        case EmbeddedResource():
            raise InvalidParams("only resources with text can be embedded", path=path)
        case PromptImage(data=data, mime_type=mime_type) if takes_images:
            return Image(data=data, mime_type=mime_type)
        case PromptImage():
            raise InvalidParams("the session's model does not take images", path=path)
        case PromptAudio():
            raise InvalidParams("audio is not taken", path=path)
        case _:
            assert_never(block)
