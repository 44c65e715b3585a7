"""Where one transcript plays: a fresh workspace and data home, and what the agent is given.

Whatever the agent is, it is told by its environment alone, so that a transcript runs against any command:
`WAYLINE_HOME` and, for Wayline, `WAYLINE_MODEL` and `WAYLINE_MODE`.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from wayline.transcripts.format import Transcript, TranscriptError
from wayline.transcripts.playing.matching import Variables, fill


class Place(msgspec.Struct, frozen=True):
    """The folders of one run of a transcript, and the agent's environment and further arguments."""

    root: Path
    workspace: Path
    home: Path
    model: str | None
    mode: str | None
    environ: dict[str, str]
    arguments: tuple[str, ...]
    #: what a transcript's templates find from the start
    variables: Variables


@contextmanager
def fresh(transcript: Transcript) -> Iterator[Place]:
    """Make the place of a transcript, and remove it afterwards. Raises `TranscriptError`."""
    meta = transcript.meta
    with TemporaryDirectory(prefix="transcript-", dir=_parent(), ignore_cleanup_errors=True) as name:
        root = Path(name).resolve()
        workspace, home = root / "workspace", root / "home"
        home.mkdir()
        place = {"cwd": str(workspace), "tmp": str(root), "home": str(home)}
        _furnish(workspace, transcript, place)
        if meta.settings:
            (home / "settings.toml").write_text(toml(meta.settings), encoding="utf-8")
        model = _model(transcript, root, place)
        environ = {"WAYLINE_HOME": str(home), "WAYLINE_INVARIANTS": "1", **meta.env}
        if model is not None:
            environ["WAYLINE_MODEL"] = model
        if meta.mode is not None:
            environ["WAYLINE_MODE"] = meta.mode
        yield Place(root, workspace, home, model, meta.mode, environ, meta.args, place)


@cache
def _parent() -> Path | None:
    """In memory where the system has a place there that programs run from; None for the usual place.

    Making and removing folders on a disk takes longer than most conversations.
    """
    in_memory = Path("/dev/shm")
    usable = "TMPDIR" not in os.environ and in_memory.is_dir() and os.access(in_memory, os.W_OK)
    return in_memory if usable and not os.statvfs(in_memory).f_flag & os.ST_NOEXEC else None


def _furnish(workspace: Path, transcript: Transcript, variables: Variables) -> None:
    if transcript.meta.workspace is None:
        workspace.mkdir()
    else:
        source = transcript.path.parent / transcript.meta.workspace
        if not source.is_dir():
            raise TranscriptError(f"{transcript.path}, line 1: workspace {source} is not a folder")
        shutil.copytree(source, workspace, symlinks=True)
    for name, text in transcript.meta.files.items():
        path = workspace / name
        if not path.resolve().is_relative_to(workspace):
            raise TranscriptError(f"{transcript.path}, line 1: the file {name} is not in the workspace")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(fill(text, variables), encoding="utf-8")


def _model(transcript: Transcript, root: Path, variables: Variables) -> str | None:
    """The model as `wayline acp --model` takes it; files are beside the transcript."""
    meta, beside = transcript.meta, transcript.path.parent.absolute()
    if meta.script is not None:
        script = root / "script.jsonl"
        lines = [fill(list(line), variables) for line in meta.script]
        script.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return f"scripted:{script}"
    if meta.model is None:
        return None
    kind, _, logs = meta.model.partition(":")
    if kind == "replay":
        return "replay:" + ",".join(str(beside / log) for log in logs.split(","))
    return f"scripted:{beside / meta.model}"


def toml(table: dict[str, Any]) -> str:
    """A table as TOML: dotted keys with JSON values, which TOML can read."""
    return "".join(f"{key} = {value}\n" for key, value in _dotted(table))


def _dotted(table: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        key = prefix + json.dumps(name)
        if isinstance(value, dict) and value:
            yield from _dotted(value, key + ".")
        else:
            yield key, json.dumps(value, ensure_ascii=False)
