"""Keeping every line we send under 64 KB, because real clients die on longer ones.

Sizes are those of the encoded text: a control character takes six bytes on the wire. What follows adds up to
less than 64 KB with a title, an id and the frame around them; whoever makes a part of a line keeps its limit.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

#: bytes of text in one message chunk
CHUNK = 32 * 1024
#: bytes of one string inside raw input or output
STRING = 16 * 1024
#: bytes of a whole raw input or output
RAW = 20 * 1024
#: bytes of the cards of one update, encoded with all that belongs to them
CARDS = 32 * 1024
#: bytes of its locations together, and of one path wherever it stands
LOCATIONS = 4 * 1024
PATH = 2 * 1024
#: bytes of a title, and of an id
TITLE = 1024
ID = 256
#: bytes of the note that a text was cut
NOTE = 64

_encode = msgspec.json.Encoder().encode


def size(text: str) -> int:
    """Bytes the text takes on the wire, without its quotes."""
    return len(_encode(text)) - 2


def pieces(text: str, limit: int = CHUNK) -> Iterator[str]:
    """The text cut into pieces of at most `limit` bytes on the wire."""
    if len(text) * 6 <= limit or size(text) <= limit:
        yield text
        return
    middle = len(text) // 2
    yield from pieces(text[:middle], limit)
    yield from pieces(text[middle:], limit)


def head(text: str, limit: int) -> str:
    """The beginning of the text that fits `limit` bytes together with a note of what was left out."""
    if len(text) <= limit and size(text) <= limit:
        return text
    kept = beginning(text, limit - NOTE)
    return f"{kept}\n… {len(text) - len(kept)} more characters are not shown"


def beginning(text: str, limit: int) -> str:
    """The beginning of the text that fits `limit` bytes."""
    kept = text[: max(limit, 0)]
    while size(kept) > limit and kept:
        kept = kept[: len(kept) * 3 // 4]
    return kept


def tail(text: str, limit: int) -> str:
    """The end of the text that fits `limit` bytes."""
    kept = text[-limit:] if limit > 0 else ""
    while size(kept) > limit and kept:
        kept = kept[len(kept) // 4 + 1 :]
    return kept


def line(text: str, limit: int = TITLE) -> str:
    """A title, a path or a name that fits `limit` bytes; `…` is where it was cut."""
    if len(text) <= limit and size(text) <= limit:
        return text
    return beginning(text, limit - 3) + "…"


def identifier(text: str) -> str:
    """An id that fits, another one for each text."""
    if len(text) <= ID and size(text) <= ID:
        return text
    import hashlib  # not before the first session is answered

    return hashlib.sha256(text.encode(errors="replace")).hexdigest()


def raw(value: Any, limit: int = RAW) -> Any:
    """JSON as raw input or output: long strings are cut with a note, and the whole fits `limit`."""
    longest = STRING
    while longest >= 64:
        cut = _cut_strings(value, longest)
        if len(_encode(cut)) <= limit:
            return cut
        longest //= 4
    return {"note": f"too large to show: {len(_encode(value))} bytes"}


def _cut_strings(value: Any, longest: int) -> Any:
    if isinstance(value, str):
        return head(value, longest)
    if isinstance(value, dict):
        return {head(key, 256): _cut_strings(item, longest) for key, item in value.items()}
    if isinstance(value, list):
        return [_cut_strings(item, longest) for item in value]
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        return str(value)  # JSON has no end of numbers, who reads it may
    return value
