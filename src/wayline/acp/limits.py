"""Keeping every line we send under 64 KB, because real clients die on longer ones.

Sizes are those of the encoded text: a control character takes six bytes on the wire.
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
#: bytes of the cards of one update
CARDS = 32 * 1024

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
    """The beginning of the text that fits `limit` bytes, with a note of what was left out."""
    if len(text) * 6 <= limit or size(text) <= limit:
        return text
    kept = text[:limit]
    while size(kept) > limit:
        kept = kept[: len(kept) * 3 // 4]
    return f"{kept}\n… {len(text) - len(kept)} more characters are not shown"


def tail(text: str, limit: int) -> str:
    """The end of the text that fits `limit` bytes."""
    kept = text[-limit:]
    while size(kept) > limit:
        kept = kept[len(kept) // 4 :]
    return kept


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
    return value
