"""How calls and results are put into words and cards; pure, so that live and replayed ones look the same."""

import re

from wayline.log.content import Image, Text
from wayline.tools.cards import Card, DiffCard, TextCard, ToolOutput

#: characters of a card's title
TITLE_LENGTH = 120


def bounded(text: str, length: int = TITLE_LENGTH) -> str:
    """The first line of `text`, cut to `length` characters."""
    first, _, rest = text.strip().partition("\n")
    first = first.strip()
    if len(first) > length:
        return first[: length - 1] + "…"
    return first + " …" if rest else first


def plain_text(output: ToolOutput) -> str:
    """The words of an output; an image is only named."""
    return "\n".join(_words(block) for block in output.content)


def _words(block: Text | Image) -> str:
    return block.text if isinstance(block, Text) else f"[{block.mime_type or 'image'}]"


def fenced(text: str) -> str:
    """`text` as a Markdown code block that nothing in it can close."""
    fences = (mark * (max(map(len, re.findall(f"{mark}{{3,}}", text)), default=2) + 1) for mark in "`~")
    fence = min(fences, key=len)
    end = "" if text.endswith("\n") else "\n"
    return f"{fence}\n{text}{end}{fence}"


def text_cards(output: ToolOutput) -> tuple[Card, ...]:
    """The output as one text card, none when it says nothing."""
    text = plain_text(output)
    if not text.strip():
        return ()
    return (TextCard(text if output.is_error else fenced(text)),)


def diff_cards(output: ToolOutput) -> tuple[Card, ...]:
    """One card for each of the output's `diffs`."""
    diffs = output.meta.get("diffs", ())
    return tuple(DiffCard(diff["path"], diff["oldText"], diff["newText"]) for diff in diffs)
