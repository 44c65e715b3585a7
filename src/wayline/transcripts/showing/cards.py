"""From JSON of the protocol to cards. What does not have the protocol's shape becomes a `Json` card."""

from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from wayline.transcripts.showing.foreign import compact
from wayline.transcripts.showing.scenes import Attachment, Card, Diff, Json, Output, Words

T = TypeVar("T")


class _Text(msgspec.Struct):
    text: str


class _Media(msgspec.Struct, rename="camel"):
    mime_type: str
    data: str = ""
    uri: str | None = None


class _Link(msgspec.Struct):
    uri: str
    name: str = ""


class _Embedded(msgspec.Struct):
    uri: str
    text: str | None = None


class _Change(msgspec.Struct, rename="camel"):
    path: str
    new_text: str
    old_text: str | None = None


class _Exit(msgspec.Struct, rename="camel"):
    exit_code: int | None = None
    signal: str | None = None


class _Printed(msgspec.Struct, rename="camel"):
    output: str
    truncated: bool = False
    exit_status: _Exit | None = None


def shaped(kind: type[T], value: Any) -> T | None:
    """The value as `kind`; None when it has another shape."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError):
        # The last one: a message about a value that has half a surrogate pair.
        return None


def words(text: str) -> Words:
    """Text of a template: a literal `${` is written `$${` there."""
    return Words(text.replace("$${", "${"))


def cards(content: Any) -> tuple[Card, ...]:
    """The cards of a list of content; of anything else one with its JSON."""
    if not isinstance(content, list | tuple):
        return (Json("content", compact(content)),)
    return tuple(card(each) for each in content)


def card(block: Any) -> Card:
    """A content block, or an item of a tool call's content."""
    # A loop, for foreign content can be nested as deep as it likes.
    while isinstance(block, dict) and block.get("type") == "content" and "content" in block:
        block = block["content"]
    kind = block.get("type") if isinstance(block, dict) else None
    found: Card | None = None
    match kind:
        case "text":
            found = _text(block)
        case "diff":
            found = _diff(block)
        case "terminal":
            found = _terminal(block)
        case "image" | "audio":
            found = _media(kind, block)
        case "resource_link":
            found = _link(block)
        case "resource":
            found = _embedded(block.get("resource"))
    return found or Json("content", compact(block))


def output(result: Any) -> Output | None:
    """The card of an answer to `terminal/output`."""
    if (printed := shaped(_Printed, result)) is None:
        return None
    ends = ["cut at its beginning"] if printed.truncated else []
    if (status := printed.exit_status) is None:
        ends.append("still running")
    elif status.signal is not None:
        ends.append(f"ended by {status.signal}")
    else:
        ends.append(f"exit {'unknown' if status.exit_code is None else status.exit_code}")
    return Output(words(printed.output).text, ", ".join(ends))


def joined(first: Iterable[Card], second: Iterable[Card]) -> tuple[Card, ...]:
    """Cards one after the other, where words that touch are one."""
    all_of_them = list(first)
    for each in second:
        last = all_of_them[-1] if all_of_them else None
        if isinstance(each, Words) and isinstance(last, Words):
            all_of_them[-1] = Words(last.text + each.text)
        else:
            all_of_them.append(each)
    return tuple(all_of_them)


def _text(block: Any) -> Card | None:
    read = shaped(_Text, block)
    return words(read.text) if read else None


def _diff(block: Any) -> Card | None:
    if (read := shaped(_Change, block)) is None:
        return None
    old = None if read.old_text is None else words(read.old_text).text
    return Diff(read.path, old, words(read.new_text).text)


def _terminal(block: Any) -> Card | None:
    name = block.get("terminalId")
    return Attachment("terminal", name) if isinstance(name, str) else None


def _media(kind: str, block: Any) -> Card | None:
    if (read := shaped(_Media, block)) is None:
        return None
    size = f"{read.mime_type}, {len(read.data):,} characters of base64"
    return Attachment(kind, f"{read.uri} {size}" if read.uri else size)


def _link(block: Any) -> Card | None:
    if (read := shaped(_Link, block)) is None:
        return None
    return Attachment("link", f"{read.name} {read.uri}".strip())


def _embedded(resource: Any) -> Card | None:
    if (read := shaped(_Embedded, resource)) is None:
        return None
    return Attachment("file", read.uri if read.text is None else f"{read.uri}\n{words(read.text).text}")
