"""Bytes of a file as text and back: encodings, line ends, and what is not text at all."""

from dataclasses import dataclass
from typing import Literal

Encoding = Literal["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"]

_UTF8_MARK = b"\xef\xbb\xbf"
_UTF16_MARKS: dict[bytes, Encoding] = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}

#: first bytes -> media type, for images a model can look at
IMAGE_TYPES = {
    b"\x89PNG\r\n\x1a\n": "image/png",
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
#: first bytes -> what to call it, for the commonest files that are not text
BINARY_TYPES = {
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a ZIP archive (or an office document)",
    b"\x1f\x8b": "gzip data",
    b"\x7fELF": "an ELF program",
    b"\xcf\xfa\xed\xfe": "a Mach-O program",
    b"SQLite format 3\0": "a SQLite database",
    b"\xca\xfe\xba\xbe": "Java bytecode or a Mach-O program",
    b"OggS": "Ogg audio or video",
    b"ID3": "MP3 audio",
}
_CONTROL = bytes([*range(0x08), *range(0x0E, 0x1B), *range(0x1C, 0x20), 0x7F])


class Binary(Exception):
    """The bytes are no text; the message says what they seem to be."""


@dataclass(frozen=True)
class TextFile:
    """The text of a file, its line ends as they are and its byte order mark taken off."""

    text: str
    encoding: Encoding = "utf-8"

    @property
    def line_end(self) -> str | None:
        """The commoner of `\\n` and `\\r\\n`, None when there is one line only."""
        all_ends = self.text.count("\n")
        windows = self.text.count("\r\n")
        if not all_ends:
            return None
        return "\r\n" if windows * 2 > all_ends else "\n"

    def ended(self, text: str) -> str:
        """`text` with the line ends of this file."""
        return text if self.line_end is None else unix(text).replace("\n", self.line_end)

    def can_say(self, text: str) -> bool:
        """Whether the encoding has every character of `text`; only Latin-1 may lack some."""
        try:
            return self.encoding != "latin-1" or text.encode("latin-1") is not None
        except UnicodeEncodeError:
            return False

    def encode(self, text: str) -> bytes:
        """`text` in the encoding of this file; what that cannot say becomes UTF-8."""
        if not self.can_say(text):
            return text.encode()
        mark = "\ufeff" if self.encoding in ("utf-16-le", "utf-16-be") else ""
        return (mark + text).encode(self.encoding)


def unix(text: str) -> str:
    """`text` with `\\n` for each `\\r\\n`."""
    return text.replace("\r\n", "\n")


def lines_of(text: str) -> list[str]:
    """The lines of `text` without their ends; a last line end opens no line of its own."""
    lines = unix(text).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def decode(raw: bytes) -> TextFile:
    """The text of `raw`: UTF-8, with a byte order mark UTF-8 or UTF-16, else Latin-1. Raises `Binary`."""
    file = _decoded(raw)
    if file is None or "\0" in file.text:
        raise Binary(binary_type(raw))
    if file.encoding == "latin-1" and (len(raw) - len(raw.translate(None, _CONTROL))) * 10 > len(raw):
        raise Binary(binary_type(raw))
    return file


def _decoded(raw: bytes) -> TextFile | None:
    if raw.startswith(_UTF8_MARK):
        return _strictly(raw[3:], "utf-8-sig", "utf-8")
    if encoding := _UTF16_MARKS.get(raw[:2]):
        return _strictly(raw[2:], encoding, encoding)
    return _strictly(raw, "utf-8", "utf-8") or TextFile(raw.decode("latin-1"), "latin-1")


def _strictly(raw: bytes, encoding: Encoding, codec: str) -> TextFile | None:
    try:
        return TextFile(raw.decode(codec), encoding)
    except UnicodeDecodeError:
        return None


def image_type(raw: bytes) -> str | None:
    """The media type of an image a model can look at, None for anything else."""
    if raw[:4] == b"RIFF" and raw[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in IMAGE_TYPES.items() if raw.startswith(start)), None)


def binary_type(raw: bytes) -> str:
    """What bytes that are no text seem to be."""
    known = (kind for start, kind in BINARY_TYPES.items() if raw.startswith(start))
    return image_type(raw) or next(known, "binary data")
