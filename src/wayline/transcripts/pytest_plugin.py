"""The pytest plugin: transcripts are test items.

`*.jsonl` in a folder named `transcripts`, and `*.transcript.jsonl` anywhere; `*.log.jsonl` is what a
transcript replays, and none itself. Each is an item for each way it is run:

    in-process    against Wayline itself, over memory streams
    command       against a process: `transcript_agent`, or else `wayline acp`
    schema        the same as the one before, each frame held against the SDK's models of the protocol

pytest loads this module in every run, so that it imports what it needs when there is a transcript.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from wayline.transcripts.format import Transcript
    from wayline.transcripts.playing.agents import Agents
    from wayline.transcripts.playing.conversation import Check
    from wayline.transcripts.playing.player import Outcome

WAYS = ("in-process", "command", "schema")


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of transcripts; each may stand in the project's settings too."""
    group = parser.getgroup("transcripts", "scripted conversations with an ACP agent")
    agent = "the command line of the agent that transcripts are run against; else Wayline"
    ways = (
        f"how each transcript is run: some of {', '.join(WAYS)}; with an agent `command`, else `in-process`"
    )
    group.addoption("--transcript-agent", metavar="COMMAND", help=agent)
    group.addoption("--transcript-ways", metavar="WAYS", help=ways)
    parser.addini("transcript_agent", agent, default="")
    parser.addini("transcript_ways", ways, type="args", default=[])


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> "TranscriptFile | None":
    """Collect a transcript."""
    if not _is_transcript(file_path):
        return None
    collected: TranscriptFile = TranscriptFile.from_parent(parent, path=file_path)
    return collected


def _is_transcript(path: Path) -> bool:
    if path.name.endswith(".log.jsonl"):
        return False
    in_folder = path.suffix == ".jsonl" and path.parent.name == "transcripts"
    return in_folder or path.name.endswith(".transcript.jsonl")


class TranscriptFile(pytest.File):
    """A file that holds a transcript."""

    def collect(self) -> Iterator["TranscriptItem"]:
        """One item for each way."""
        from wayline.transcripts.format import TranscriptError, read

        try:
            transcript = read(self.path)
        except TranscriptError as error:
            raise self.CollectError(str(error)) from None
        for way in _ways(self.config):
            yield TranscriptItem.from_parent(self, name=way, transcript=transcript, way=way)


class TranscriptFailed(Exception):
    """A transcript did not come true."""

    def __init__(self, outcome: "Outcome") -> None:
        super().__init__(str(outcome.failure))
        self.outcome = outcome


class TranscriptItem(pytest.Item):
    """A transcript, run in one way."""

    def __init__(self, *, transcript: "Transcript", way: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._transcript = transcript
        self._way = way

    def runtest(self) -> None:
        """Play it. Raises `TranscriptFailed`."""
        import anyio

        from wayline.transcripts.playing.player import play

        agents, check = _agents(self.config, self._way), _check(self._way)

        async def played() -> "Outcome":
            return await play(self._transcript, agents, check=check)

        outcome = anyio.run(played)
        if outcome.failure is not None:
            raise TranscriptFailed(outcome)
        if outcome.not_offered is not None:
            pytest.skip(f"not offered: {outcome.not_offered}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The report of the command line, in place of a traceback."""
        if isinstance(excinfo.value, TranscriptFailed):
            from wayline.transcripts.playing import report

            return report.of_failure(excinfo.value.outcome)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """Where it is, and its name."""
        return self.path, 0, f"{self._transcript.meta.name} [{self._way}]"


def _option(config: pytest.Config, name: str) -> Any:
    """The command line's, else that of the project's settings."""
    given = config.getoption(f"--{name.replace('_', '-')}")
    return config.getini(name) if given is None else given


def _ways(config: pytest.Config) -> list[str]:
    given = _option(config, "transcript_ways")
    ways = given.replace(",", " ").split() if isinstance(given, str) else list(given)
    unknown = [way for way in ways if way not in WAYS]
    if unknown:
        raise pytest.UsageError(f"transcript_ways: {unknown[0]!r} is none of {', '.join(WAYS)}")
    return ways or ["command" if _option(config, "transcript_agent") else "in-process"]


def _agents(config: pytest.Config, way: str) -> "Agents":
    import os
    import shlex

    from wayline.transcripts.playing.agents import Commands, wayline_acp

    agent = _option(config, "transcript_agent")
    if agent:
        # Settings are committed, and the agent runs in a folder of its own: a path in them needs a root.
        root = str(config.rootpath)
        return Commands([word.replace("${PWD}", root) for word in shlex.split(agent)], os.environ)
    if way == "command":
        return Commands(wayline_acp(), os.environ)
    return config.stash.setdefault(_IN_PROCESS, _in_process())


_IN_PROCESS = pytest.StashKey["Agents"]()


def _in_process() -> "Agents":
    import os

    from wayline.transcripts.playing.in_process import InProcess

    return InProcess(os.environ)


def _check(way: str) -> "Check | None":
    if way != "schema":
        return None
    from wayline.transcripts.playing import schema

    return schema.check
