"""A request of the chat-completions dialect, as bytes.

Each message is encoded once: a request joins what was encoded before with what is new, so that its cost
does not grow with the length of the session.
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec

from wayline.log.content import ContentBlock, Image, Message, Reasoning, Text, ToolCall, ToolResult
from wayline.models.base import ModelRequest
from wayline.models.catalog import ProviderConfig

#: sessions whose encoded messages are kept
_SESSIONS = 64
_encode = msgspec.json.Encoder().encode


class _Encoded:
    """The messages of one session that were encoded, and their bytes; b"" for one that is not sent."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.pieces: list[bytes] = []

    def still_begins(self, history: Sequence[Message]) -> bool:
        """Whether the history still begins with these messages.

        Histories grow at their end; what shortens or replaces moves the last message or the first.
        """
        if not self.messages:
            return True
        last = len(self.messages) - 1
        return len(history) > last and history[last] is self.messages[last] and history[0] is self.messages[0]


class RequestEncoder:
    """Encodes the requests of one model."""

    def __init__(self, model: str, config: ProviderConfig) -> None:
        self._model = model
        self._config = config
        self._sessions: OrderedDict[str, _Encoded] = OrderedDict()

    def body(self, request: ModelRequest) -> bytes:
        """The body of a streamed request."""
        options: dict[str, Any] = {"model": self._model, "stream": True}
        if "no_stream_options" not in self._config.quirks:
            options["stream_options"] = {"include_usage": True}
        if request.tools:
            options["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in request.tools
            ]
        options.update(self._config.extra_body)
        system = _encode({"role": "system", "content": request.system})
        messages = b",".join([system, *(piece for piece in self._pieces(request) if piece)])
        return _encode(options)[:-1] + b',"messages":[' + messages + b"]}"

    def _pieces(self, request: ModelRequest) -> list[bytes]:
        encoded = self._sessions.get(request.session_id)
        if encoded is None or not encoded.still_begins(request.messages):
            encoded = _Encoded()
            self._sessions[request.session_id] = encoded
        self._sessions.move_to_end(request.session_id)
        while len(self._sessions) > _SESSIONS:
            self._sessions.popitem(last=False)
        for message in request.messages[len(encoded.messages) :]:
            encoded.messages.append(message)
            encoded.pieces.append(self._piece(message))
        return encoded.pieces

    def _piece(self, message: Message) -> bytes:
        match message.role:
            case "user":
                return _encode({"role": "user", "content": self._user_content(message.content)})
            case "assistant":
                return self._assistant(message.content)
            case "tool":
                (result,) = message.content
                assert isinstance(result, ToolResult)
                return _encode(
                    {"role": "tool", "tool_call_id": result.tool_call_id, "content": _plain(result.content)}
                )

    def _user_content(self, content: Sequence[ContentBlock]) -> str | list[dict[str, Any]]:
        if not self._config.takes_images or not any(isinstance(block, Image) for block in content):
            return _plain(content)
        return [_part(block) for block in content if isinstance(block, Text | Image)]

    def _assistant(self, content: Sequence[ContentBlock]) -> bytes:
        """An assistant message; one with neither text nor calls would be refused and is left out."""
        calls = [block for block in content if isinstance(block, ToolCall)]
        text = "".join(block.text for block in content if isinstance(block, Text))
        if not calls and not text:
            return b""
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if calls:
            message["tool_calls"] = [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": call.arguments},
                }
                for call in calls
            ]
            if "wants_reasoning_back" in self._config.quirks:
                message["reasoning_content"] = "".join(
                    block.text for block in content if isinstance(block, Reasoning)
                )
        return _encode(message)


def _plain(content: Sequence[ContentBlock]) -> str:
    """Content as text; an image that cannot be sent is named."""
    return "\n".join(
        block.text if isinstance(block, Text) else "[an image that this model cannot be shown]"
        for block in content
        if isinstance(block, Text | Image)
    )


def _part(block: Text | Image) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    url = block.url or f"data:{block.mime_type};base64,{block.data}"
    return {"type": "image_url", "image_url": {"url": url}}
