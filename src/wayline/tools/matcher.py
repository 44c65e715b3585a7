"""Searches files for a regular expression: the stand-in for ripgrep, run as a program of its own.

A process and not a thread, because a regular expression that goes astray holds Python's lock until it is
done, and nothing but a signal ends it. Its arguments are the pattern, `i` or `-` for the case, and the
lines of context; its input is the files, parted by NUL; its output is that of `rg --json`, as far as it
is read.
"""

import json
import re
import resource
import sys
from pathlib import Path

#: bytes of a file that is searched
MOST = 20 * 1024 * 1024
#: seconds of processor time after which it ends, also when nobody is left to end it
LONGEST = 120
#: exit code when some files could not be read
UNREAD = 3


def main() -> None:
    """Search; exit code 2 with the reason on stderr for a pattern that is none, `UNREAD` as it says."""
    resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
    pattern, case, context = sys.argv[1:]
    try:
        regex = re.compile(pattern, re.IGNORECASE if case == "i" else 0)
    except re.error as error:
        sys.exit(_refused(f"regex parse error: {error}"))
    status = 0
    for name in sys.stdin.buffer.read().split(b"\0"):
        path = Path(name.decode(errors="surrogateescape"))
        try:
            text = text_of(path) if name else None
        except OSError:
            status = UNREAD  # it is gone, or not ours to read: ripgrep goes on too
        else:
            if text is not None:
                search(path, text, regex, int(context))
    sys.exit(status)


def _refused(reason: str) -> int:
    sys.stderr.write(reason + "\n")
    return 2


def search(path: Path, text: str, regex: re.Pattern[str], context: int) -> None:
    """Tell of each matching line of one file, and of the lines around it."""
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    lines = [line.removesuffix("\r") for line in lines]
    matches = {index: match.start() for index, line in enumerate(lines) if (match := regex.search(line))}
    shown = {near for index in matches for near in range(index - context, index + context + 1)}
    for index in sorted(shown & set(range(len(lines)))):
        kind = "match" if index in matches else "context"
        start = len(lines[index][: matches.get(index, 0)].encode(errors="replace"))
        data = {"path": {"text": str(path)}, "line_number": index + 1, "lines": {"text": lines[index]}}
        tell({"type": kind, "data": data | {"submatches": [{"start": start}]}})
    tell({"type": "end", "data": {"path": {"text": str(path)}, "binary_offset": None}})


def text_of(path: Path) -> str | None:
    """The text of a file, None for one that is binary or too large. Raises `OSError`."""
    if path.stat().st_size > MOST:
        return None
    raw = path.read_bytes()
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return raw.decode("utf-16", errors="replace")
    return None if b"\0" in raw else raw.removeprefix(b"\xef\xbb\xbf").decode(errors="replace")


def tell(event: object) -> None:
    """One line of output."""
    sys.stdout.write(json.dumps(event) + "\n")


if __name__ == "__main__":
    main()
