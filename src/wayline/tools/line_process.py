"""A program whose output is taken line by line, for as long as it is wanted."""

from collections.abc import Callable, Sequence
from subprocess import DEVNULL, PIPE

import anyio
from anyio.abc import Process

#: characters of a failing program's own words
WORDS = 2_000


class ProgramFailed(Exception):
    """The program ended with `status`; the message is what it said."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


async def run_lines(
    argv: Sequence[str],
    take: Callable[[bytes], bool],
    *,
    given: bytes | None = None,
    separator: bytes = b"\n",
    good: tuple[int, ...] = (0, 1),
) -> int | None:
    """Give each line of the program's output to `take` until that returns False or there are no more.

    Returns the exit code, None when no more was wanted. `given` is the program's input. It ends with this
    call, also when that is cancelled. Raises `ProgramFailed` for an exit code that is not `good`.
    """
    stdin = DEVNULL if given is None else PIPE
    async with await anyio.open_process(argv, stdin=stdin, stdout=PIPE, stderr=PIPE) as process:
        async with anyio.create_task_group() as tasks:
            if given is not None:
                tasks.start_soon(_give, process, given)
            wanted = await _take_lines(process, take, separator)
            if not wanted:
                process.kill()
            tasks.cancel_scope.cancel()
        words = await _words(process) if wanted else ""
        status = await process.wait()
    if wanted and status not in good:
        raise ProgramFailed(status, words)
    return status if wanted else None


async def _give(process: Process, given: bytes) -> None:
    assert process.stdin is not None
    try:
        await process.stdin.send(given)
        await process.stdin.aclose()
    except (anyio.BrokenResourceError, anyio.ClosedResourceError):
        pass  # it wants no more, and its exit code will say why


async def _take_lines(process: Process, take: Callable[[bytes], bool], separator: bytes) -> bool:
    """Whether all of them were wanted."""
    assert process.stdout is not None
    rest: list[bytes] = []  # joined once a line ends, since one line may be megabytes
    async for chunk in process.stdout:
        *lines, begun = chunk.split(separator)
        if lines:
            lines[0] = b"".join([*rest, lines[0]])
            rest = []
        rest.append(begun)
        if not all(map(take, lines)):
            return False
    last = b"".join(rest)
    return not last or take(last)


async def _words(process: Process) -> str:
    assert process.stderr is not None
    words = b"".join([chunk async for chunk in process.stderr])
    return words.decode(errors="replace").strip()[:WORDS]
