"""What a result may look like in the log: its size, its characters, and the shape of a failure."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from wayline.log.content import Image, Text
from wayline.tools.base import ToolOutput
from wayline.tools.schema import without_surrogates

#: bytes of UTF-8 and lines of text that a result may have
MAX_BYTES = 50 * 1024
MAX_LINES = 2_000
#: on top of it for the closing note of a tool that cuts its own output to the limit
NOTE_BYTES = 1024
NOTE_LINES = 10
#: room in each half of a cut result for the note in its middle
_HALF_BYTES = (MAX_BYTES - NOTE_BYTES) // 2
_HALF_LINES = (MAX_LINES - NOTE_LINES) // 2


def failed(error: BaseException, code: str, text: str) -> ToolOutput:
    """The result of a call that `error` ended."""
    return ToolOutput((Text(text),), is_error=True, error_name=type(error).__name__, error_code=code)


def fitted(output: ToolOutput, spill: Callable[[str], Path]) -> ToolOutput:
    """`output` with sound text, and with each text that is too long cut in its middle; the whole of it
    goes to a file by `spill`."""
    blocks = tuple(_fitted_block(block, spill) for block in output.content)
    return replace(output, content=blocks)


def _fitted_block(block: Text | Image, spill: Callable[[str], Path]) -> Text | Image:
    if isinstance(block, Image):
        return block
    text = without_surrogates(block.text)
    return Text(text if fits(text) else _cut(text, spill))


def fits(text: str) -> bool:
    """Whether a result may have this text whole."""
    return size(text) <= MAX_BYTES + NOTE_BYTES and text.count("\n") < MAX_LINES + NOTE_LINES


def size(text: str) -> int:
    """Bytes of `text` in UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def _cut(text: str, spill: Callable[[str], Path]) -> str:
    head, tail = ends(text, _HALF_BYTES, _HALF_LINES)
    left_out = size(text) - size(head) - size(tail)
    try:
        where = f"all that was kept is in {spill(text)}: read it in parts, or grep it"
    except OSError as error:
        # The call itself went well, and what it did is done: only the middle is lost.
        where = f"the whole could not be kept: {error}"
    return f"{head}\n\n[{left_out} bytes left out here; {where}]\n\n{tail}"


def ends(text: str, half_bytes: int, half_lines: int) -> tuple[str, str]:
    """The head and the tail of `text`, each at most that many bytes and lines, cut between characters."""
    raw = text.encode()
    head = raw[:half_bytes].decode(errors="ignore")
    tail = raw[-half_bytes:].decode(errors="ignore")
    return (
        "".join(head.splitlines(keepends=True)[:half_lines]).rstrip("\n"),
        "".join(tail.splitlines(keepends=True)[-half_lines:]),
    )
