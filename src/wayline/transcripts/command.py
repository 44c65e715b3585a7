"""`wayline transcript run | record | show`: what is on the command line, and what is printed."""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import anyio

from wayline.transcripts import report
from wayline.transcripts.agents import Agents, Commands, wayline_acp
from wayline.transcripts.conversation import Check
from wayline.transcripts.format import Transcript, TranscriptError, dump_step, read
from wayline.transcripts.player import Outcome, play

#: exit statuses
FAILED, REFUSED = 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `wayline transcript` understands."""
    commands = parser.add_subparsers(dest="transcript_command", metavar="COMMAND", required=True)
    run = commands.add_parser("run", help="play transcripts against an agent")
    run.add_argument("files", nargs="+", type=Path, metavar="FILE", help="a transcript, or a folder of them")
    agent = run.add_mutually_exclusive_group()
    agent.add_argument("--agent", metavar="COMMAND", help="the agent's command line; else `wayline acp`")
    agent.add_argument("--in-process", action="store_true", help="Wayline, without a process around it")
    run.add_argument("--jobs", type=_count, default=1, metavar="N", help="so many at once")
    run.add_argument("--update", action="store_true", help="make expectations that fail fit what came")
    run.add_argument("--schema", action="store_true", help="hold every frame against the protocol's models")
    record = commands.add_parser("record", help="sit between a client and an agent, and write a transcript")
    record.add_argument("out", type=Path, metavar="OUT")
    record.add_argument("agent_command", nargs=argparse.REMAINDER, metavar="-- COMMAND…")
    show = commands.add_parser("show", help="a transcript for people")
    show.add_argument("file", type=Path, metavar="FILE")
    show.add_argument("--html", action="store_true", help="one self-contained page")


def run(options: argparse.Namespace) -> int:
    """Run one subcommand; returns the exit status."""
    try:
        match options.transcript_command:
            case "run":
                return _run(options)
            case "record":
                return _record(options)
            case _:
                return _show(options)
    except TranscriptError as error:
        print(f"wayline: {error}", file=sys.stderr)
        return REFUSED


def _run(options: argparse.Namespace) -> int:
    transcripts = [read(path) for path in files_of(options.files)]
    agents = _agents(options)
    began = time.monotonic()
    outcomes = anyio.run(_play_all, transcripts, agents, options)
    for outcome in outcomes:
        if outcome.adopted:
            write_adopted(outcome)
            print(f"{len(outcome.adopted)} lines of {outcome.transcript.path} now say what came")
    for outcome in outcomes:
        if outcome.failure is not None:
            print(f"\n{report.of_failure(outcome)}")
    print(f"\n{report.summary(outcomes, time.monotonic() - began)}")
    return FAILED if any(outcome.failure for outcome in outcomes) else 0


def files_of(paths: Sequence[Path]) -> Iterator[Path]:
    """The transcripts that are named, and those in the folders that are named. Raises `TranscriptError`."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        found = sorted(each for each in path.rglob("*.jsonl") if not each.name.endswith(".log.jsonl"))
        if not found:
            raise TranscriptError(f"{path} holds no transcript (*.jsonl)")
        yield from found


def write_adopted(outcome: Outcome) -> None:
    """Put the steps that were made to fit into the transcript's file; every other line stays as it is."""
    path = outcome.transcript.path
    lines = path.read_text(encoding="utf-8").split("\n")
    for number, step in outcome.adopted.items():
        lines[number - 1] = dump_step(step)
    path.write_text("\n".join(lines), encoding="utf-8")


def _agents(options: argparse.Namespace) -> Agents:
    if options.in_process:
        from wayline.transcripts.in_process import InProcess

        return InProcess(os.environ)
    if options.agent:
        return Commands(shlex.split(options.agent), os.environ)
    return Commands(wayline_acp(), os.environ)


async def _play_all(
    transcripts: Sequence[Transcript], agents: Agents, options: argparse.Namespace
) -> list[Outcome]:
    """Play them, `jobs` at once; each is told when it is done, and they come back in their order."""
    outcomes: dict[int, Outcome] = {}
    limit = anyio.CapacityLimiter(options.jobs)
    check: Check | None = None
    if options.schema:
        from wayline.transcripts import schema

        check = schema.check

    async def play_one(number: int, transcript: Transcript) -> None:
        async with limit:
            outcome = await play(transcript, agents, check=check, update=options.update)
        outcomes[number] = outcome
        print(report.line_of(outcome), flush=True)

    async with anyio.create_task_group() as tasks:
        for number, transcript in enumerate(transcripts):
            tasks.start_soon(play_one, number, transcript)
    return [outcomes[number] for number in range(len(transcripts))]


def _record(options: argparse.Namespace) -> int:
    from wayline.transcripts.tap import record

    command = options.agent_command[1:] if options.agent_command[:1] == ["--"] else options.agent_command
    if not command:
        print("wayline: record needs the agent's command after --", file=sys.stderr)
        return REFUSED
    return record(options.out, command)


def _show(options: argparse.Namespace) -> int:
    transcript = read(options.file)
    if options.html:
        from wayline.transcripts.page import page

        sys.stdout.write(page(transcript))
        return 0
    import shutil

    from wayline.transcripts.show import shown

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    sys.stdout.write(shown(transcript, colour=colour, width=shutil.get_terminal_size((100, 40)).columns))
    return 0


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number
