"""What comes out of a transcript is foreign text: here it becomes something that can be shown.

harmless  no character that steers a terminal, hides, turns the writing around or cannot be encoded
compact   any JSON as one line
aside     what a scene does not show of its step, as one line
shortened a long text without its middle
"""

import json
import re
from typing import Any

#: control characters but newline and tab; invisible and bidirectional ones; halves of surrogate pairs
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\ud800-\udfff\U000e0000-\U000e007f]"
)
_PICTURES = 0x2400
_DELETE = 0x7F


def harmless(text: str) -> str:
    """The text with such characters made visible: ESC as `␛`, U+202E as `\\u202e`."""
    return _UNSEEN.sub(_visible, text)


def _visible(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(_PICTURES + code)
    if code == _DELETE:
        return "␡"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def compact(value: Any) -> str:
    """A value of JSON as one line, whatever it is."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deep to be shown)"


def aside(rest: dict[str, Any], *more: str) -> str:
    """What else a step says: remarks, and the members that a scene does not show."""
    return ", ".join(filter(None, [*more, f"with {compact(rest)}" if rest else ""]))


def shortened(text: str, most: int) -> str:
    """The text, its middle left out when it has more than `most` characters."""
    if len(text) <= most:
        return text
    head, tail = text[: most * 2 // 3], text[len(text) - most // 3 :]
    return f"{head} [… {len(text) - len(head) - len(tail):,} characters …] {tail}"


def lines_of(text: str, most: int, longest: int) -> list[str]:
    """The lines of a text: at most `most` and one that counts what was left out in the middle, each at
    most `longest` characters and such a count."""
    lines = text.removesuffix("\n").split("\n")
    if len(lines) <= most:
        return [shortened(line, longest) for line in lines]
    head, tail = lines[: most * 2 // 3], lines[len(lines) - most // 3 :]
    note = f"[… {len(lines) - len(head) - len(tail):,} lines …]"
    return [*(shortened(line, longest) for line in head), note, *(shortened(line, longest) for line in tail)]
