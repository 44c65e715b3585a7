"""The command `wayline`. Each subcommand imports what it needs when it runs."""

import argparse
import sys
from collections.abc import Sequence

from wayline import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Run one subcommand; returns the exit status."""
    if sys.platform == "win32":
        print("wayline: Windows is not supported yet", file=sys.stderr)
        return 2
    arguments = sys.argv[1:] if argv is None else argv
    options = _parser(arguments[:1]).parse_args(arguments)
    match options.command:
        case "acp":
            from wayline import serve

            return serve.run(options.model, options.mode)
        case "demo":
            from wayline import demo

            return demo.run()
        case "transcript":
            from wayline.transcripts import command

            return command.run(options)
        case _:
            _parser(()).print_help()
            return 2


def _parser(command: Sequence[str]) -> argparse.ArgumentParser:
    """The parser; a command with subcommands of its own adds them when it is the one."""
    parser = argparse.ArgumentParser(prog="wayline", description="A coding agent that an editor launches.")
    parser.add_argument("--version", action="version", version=f"wayline {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    acp = commands.add_parser("acp", help="speak the Agent Client Protocol on stdin and stdout")
    acp.add_argument("--model", help="provider/model, scripted[:FILE] or replay:LOG")
    acp.add_argument("--mode", help="ask, accept-edits, plan or full")
    commands.add_parser("demo", help="watch a scripted session with a live plan; no key, no network")
    transcript = commands.add_parser("transcript", help="run, record and show scripted conversations")
    if command == ["transcript"]:
        from wayline.transcripts.command import add_arguments

        add_arguments(transcript)
    return parser
