"""How calls and results are put into words and cards; pure, so that live and replayed ones look the same."""

import re

import msgspec

from wayline.log.content import Image, Text
from wayline.tools.cards import Card, DiffCard, TextCard, ToolOutput

#: characters of a card's title
TITLE_LENGTH = 120
#: bytes in JSON of a card that shows all of what a person is asked to allow
WHOLE = 16 * 1024
#: characters of each end of a text that is longer: as escapes they take eleven bytes each
ENDS = 600

#: what is not seen, looks like a space or moves what is around it: control, format, bidi, filler and private
#: characters, variation selectors, tags. A tab and a line end are seen, a line at a time.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u070f\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f"
    "\u2000-\u200f\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0"
    "\ufff0-\uffff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]"
)
_NAMES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def visible(text: str) -> str:
    """`text` with what nobody would see in it as escapes: `\\x1b`, `\\u202e`."""
    return text if text.isascii() and text.isprintable() else _UNSEEN.sub(_escape, text)


def _escape(character: re.Match[str]) -> str:
    code = ord(character[0])
    if code > 0xFFFF:
        return f"\\U{code:08x}"
    return _NAMES.get(character[0]) or (f"\\u{code:04x}" if code > 0xFF else f"\\x{code:02x}")


def in_one_line(text: str) -> str:
    """`text` as a title can show it: visible, line ends and tabs as escapes too."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def bounded(text: str, length: int = TITLE_LENGTH) -> str:
    """The first line of `text`, white space drawn together, cut to `length` characters."""
    first, _, rest = text.strip().partition("\n")
    first = in_one_line(re.sub(r"[ \t]+", " ", first.rstrip()))
    if len(first) > length:
        return first[: length - 1] + "…"
    return first + " …" if rest else first


def shown_whole(text: str) -> bool:
    """Whether a person can be shown all of `text`: in the title of a card, or in `whole_text`."""
    return len(text) <= WHOLE and len(msgspec.json.encode(fenced(visible(text)))) <= WHOLE


def whole_text(text: str, what: str) -> TextCard:
    """All of `text` as it is, invisible characters as escapes. A text that is too long to be shown is cut in
    its middle, and the card says so."""
    if shown_whole(text):
        return TextCard(fenced(visible(text)))
    length = min(ENDS, len(text) // 4)
    head, tail = (fenced(visible(end)) for end in (text[:length], text[-length:]))
    note = f"**This {what} is too long to be shown: it has {len(text)} characters.**"
    return TextCard(
        f"{note} It begins:\n{head}\n{len(text) - 2 * length} characters are left out here. It ends:\n{tail}"
    )


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
