"""Server-sent events out of bytes, whatever their boundaries (WHATWG HTML, "Server-sent events")."""


class SseDecoder:
    """Takes bytes as they come and gives the `data` of each event that is whole.

    Event names, ids, retry times and comments are left out: no server of the chat dialect says anything
    with them that its data does not say.
    """

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._data: list[bytes] = []
        self._first = True
        #: bytes that came since the last event, or since there was nothing of one
        self.unfinished = 0

    def feed(self, received: bytes) -> list[bytes]:
        """The data of the events that ended within `received`."""
        self._rest.append(received)
        self.unfinished += len(received)
        if b"\n" not in received and b"\r" not in received:
            return []
        text = b"".join(self._rest)
        if b"\r" in text:
            text = _normalized(text)
        if self._first and len(text) >= 3:
            text = text.removeprefix(b"\xef\xbb\xbf")
            self._first = False
        *lines, rest = text.split(b"\n")
        self._rest = [rest]
        events: list[bytes] = []
        for line in lines:
            if line.startswith(b"data:"):
                self._data.append(line[6:] if line[5:6] == b" " else line[5:])
            elif line == b"data":
                self._data.append(b"")
            elif not line and self._data:
                events.append(b"\n".join(self._data))
                self._data = []
        if not self._data:
            self.unfinished = len(rest)
        return events

    def end(self) -> list[bytes]:
        """An event whose blank line never came: servers that hang up after their last line."""
        return self.feed(b"\n\n")


def _normalized(text: bytes) -> bytes:
    """Every line end as `\\n`; a last `\\r` waits, since its `\\n` may be on the way."""
    held = b"\r" if text.endswith(b"\r") else b""
    body = text[: len(text) - len(held)]
    return body.replace(b"\r\n", b"\n").replace(b"\r", b"\n") + held
