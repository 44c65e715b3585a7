"""HTML that foreign text cannot get out of: what is not `Markup` is escaped, and `element` makes `Markup`."""

import html

import msgspec

from wayline.transcripts.showing.foreign import harmless


class Markup(msgspec.Struct, frozen=True):
    """HTML as it is."""

    text: str


def element(name: str, *inside: "str | Markup", **attributes: str) -> Markup:
    """An element. Names are ours; a `_` at the end of an attribute's name keeps Python happy."""
    said = "".join(f' {key.rstrip("_")}="{_escaped(value)}"' for key, value in attributes.items() if value)
    return Markup(f"<{name}{said}>{together(*inside).text}</{name}>")


def together(*inside: "str | Markup") -> Markup:
    """Pieces one after the other."""
    return Markup("".join(each.text if isinstance(each, Markup) else _escaped(each) for each in inside))


def _escaped(text: str) -> str:
    return html.escape(harmless(text))
