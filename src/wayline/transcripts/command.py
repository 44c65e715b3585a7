"""`wayline transcript run | record | show`: what is on the command line, and what is printed."""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from io import TextIOWrapper
from pathlib import Path

import anyio
import msgspec

from wayline.transcripts.format import Transcript, TranscriptError, dump_step, read
from wayline.transcripts.playing import report
from wayline.transcripts.playing.agents import Agents, Commands, wayline_acp
from wayline.transcripts.playing.conversation import Check
from wayline.transcripts.playing.player import Outcome, play_all

#: exit statuses
FAILED, REFUSED = 1, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What `wayline transcript` understands."""
    commands = parser.add_subparsers(dest="transcript_command", metavar="COMMAND", required=True)
    run = commands.add_parser("run", help="play transcripts against an agent")
    run.add_argument("files", nargs="*", type=Path, metavar="FILE", help="a transcript, or a folder of them")
    agent = run.add_mutually_exclusive_group()
    agent.add_argument(
        "--agent", metavar="COMMAND", action="append", help="the agent's command line; else `wayline acp`"
    )
    agent.add_argument("--in-process", action="store_true", help="Wayline, without a process around it")
    run.add_argument("--jobs", type=_count, default=1, metavar="N", help="so many at once")
    run.add_argument("--update", action="store_true", help="make expectations that fail fit what came")
    run.add_argument("--schema", action="store_true", help="hold every frame against the protocol's models")
    run.add_argument("--timeout", type=float, metavar="SECONDS", help="so long may each wait take")
    run.add_argument("--conformance", action="store_true", help="no files: what of the protocol holds")
    run.add_argument("--markdown", action="store_true", help="the table of --conformance as Markdown")
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
    if options.conformance:
        return _conformance(options)
    if not options.files or len(options.agent or ()) > 1:
        raise TranscriptError("run needs a FILE and at most one agent, or --conformance")
    transcripts = [_timed(read(path), options) for path in files_of(options.files)]
    (agents,) = _agents(options)
    check: Check | None = None
    if options.schema:
        from wayline.transcripts.playing import schema

        check = schema.check

    async def played() -> list[Outcome]:
        return await play_all(
            transcripts, agents, jobs=options.jobs, done=_told, check=check, update=options.update
        )

    began = time.monotonic()
    outcomes = anyio.run(played)
    for outcome in outcomes:
        if outcome.adopted:
            write_adopted(outcome)
            print(f"{len(outcome.adopted)} lines of {outcome.transcript.path} now say what came")
    for outcome in outcomes:
        if outcome.failure is not None:
            print(f"\n{report.of_failure(outcome)}")
    print(f"\n{report.summary(outcomes, time.monotonic() - began)}")
    return FAILED if any(outcome.failure for outcome in outcomes) else 0


def _conformance(options: argparse.Namespace) -> int:
    from wayline.transcripts import conformance

    if options.files or options.update or options.schema:
        raise TranscriptError("--conformance has its own transcripts, and takes no FILE, --update, --schema")
    transcripts = [_timed(each, options) for each in conformance.transcripts()]

    # An agent that does not say its name is called by the last word of its command.
    names = [Path(shlex.split(each)[-1]).name for each in options.agent or ()] or ["wayline"]

    async def judged() -> list[conformance.Column]:
        return [
            await conformance.judge(transcripts, agents, name, jobs=options.jobs, done=_said)
            for agents, name in zip(_agents(options), names, strict=True)
        ]

    columns = anyio.run(judged)
    print(conformance.markdown(columns) if options.markdown else conformance.text(columns))
    return FAILED if any(row.verdict == conformance.FAILS for each in columns for row in each.rows) else 0


def _said(outcome: Outcome) -> None:
    """Progress, beside the table."""
    print(report.line_of(outcome), file=sys.stderr, flush=True)


def _told(outcome: Outcome) -> None:
    print(report.line_of(outcome), flush=True)


def _timed(transcript: Transcript, options: argparse.Namespace) -> Transcript:
    """The transcript with the time for each wait that was asked for."""
    if options.timeout is None:
        return transcript
    replace = msgspec.structs.replace
    return replace(transcript, meta=replace(transcript.meta, timeout=options.timeout))


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


def _agents(options: argparse.Namespace) -> list[Agents]:
    """One for each `--agent`, else Wayline."""
    if options.in_process:
        from wayline.transcripts.playing.in_process import InProcess

        return [InProcess(os.environ)]
    commands = [shlex.split(each) for each in options.agent or ()] or [wayline_acp()]
    return [Commands(command, os.environ) for command in commands]


def _record(options: argparse.Namespace) -> int:
    from wayline.transcripts.recording.tap import record

    command = options.agent_command[1:] if options.agent_command[:1] == ["--"] else options.agent_command
    if not command:
        print("wayline: record needs the agent's command after --", file=sys.stderr)
        return REFUSED
    return record(options.out, command)


def _show(options: argparse.Namespace) -> int:
    transcript = read(options.file)
    if isinstance(sys.stdout, TextIOWrapper):
        # What a transcript holds may not be in the terminal's alphabet.
        sys.stdout.reconfigure(errors="backslashreplace")
    if options.html:
        from wayline.transcripts.showing.page import page

        sys.stdout.write(page(transcript))
        return 0
    import shutil

    from wayline.transcripts.showing.show import shown

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    sys.stdout.write(shown(transcript, colour=colour, width=shutil.get_terminal_size((100, 40)).columns))
    return 0


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number
