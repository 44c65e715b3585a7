"""`wayline acp`: one connection over stdin and stdout, from the first byte to a clean end."""

import logging
import os
import resource
import signal
import sys
import threading
from io import TextIOWrapper
from pathlib import Path

import anyio

from wayline import compose, homes, settings
from wayline.chosen_models import UnusableModel
from wayline.wire import stdio
from wayline.wire.jsonrpc import Connection

#: Seconds from the end of the conversation until the process is gone, whatever still hangs.
LAST_BREATH = 1.8

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

#: Open files that we ask the system for: each open session has one.
OPEN_FILES = 8192


def run(model: str | None, mode: str | None) -> int:
    """Serve until the client closes its side, or a signal says so."""
    places = homes.find()
    _log_to(places.data / "wayline.log")
    try:
        chosen = settings.load(places, model=model, mode=mode)
        program = compose.Program(places, chosen)
    except (settings.SettingsError, UnusableModel) as error:
        sys.stderr.write(f"wayline: {error}\n")
        return 1
    _allow_open_files()
    wire_in, wire_out = stdio.claim()
    anyio.run(_serve, stdio.StdioTransport(wire_in, wire_out), program)
    return 0


def _allow_open_files() -> None:
    """Raise the limit of open files as far as we need and may."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


class DiagnosticsFile(logging.FileHandler):
    """The log file for diagnostics: made when there is something to say, begun anew when it has grown.

    That it cannot be written is said on stderr once, and ends nothing: whoever logs is in the middle of a
    conversation.
    """

    LIMIT = 5_000_000

    def emit(self, record: logging.LogRecord) -> None:
        if self.stream is None:
            try:
                self.stream = self._open()
            except OSError as error:
                sys.stderr.write(f"wayline: no diagnostics are kept in {self.baseFilename}: {error}\n")
                logging.getLogger().removeHandler(self)
                return
        super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """A full disk: the record is on stderr already, and a traceback for each would drown it."""

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.exists() and path.stat().st_size > self.LIMIT:
            path.unlink()
        return open(path, "a", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600))


def _log_to(file: Path) -> None:
    """Diagnostics go to stderr and to a file; `WAYLINE_LOG` sets how many."""
    level = os.environ.get("WAYLINE_LOG", "warning").upper()
    known = level in LEVELS
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(logging.Formatter("wayline: %(levelname)s %(message)s"))
    to_file = DiagnosticsFile(file, delay=True)
    to_file.setFormatter(logging.Formatter("%(asctime)s %(process)d %(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=level if known else "WARNING", handlers=[to_stderr, to_file])
    if not known:
        logging.warning("WAYLINE_LOG is %r, and is one of %s", level.lower(), ", ".join(LEVELS).lower())


async def _serve(transport: stdio.StdioTransport, program: compose.Program) -> None:
    async with anyio.create_task_group() as tasks:
        connection = Connection(transport)
        tasks.start_soon(transport.write_on)
        tasks.start_soon(_stop_when_gone, transport, connection)
        tasks.start_soon(_stop_on_signal, connection)
        await compose.converse(connection, program, _exit_in_any_case)
        tasks.cancel_scope.cancel()
    transport.release()


async def _stop_when_gone(transport: stdio.StdioTransport, connection: Connection) -> None:
    await transport.peer_gone.wait()
    connection.stop()


async def _stop_on_signal(connection: Connection) -> None:
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP, signal.SIGINT) as signals:
        async for _ in signals:
            connection.stop()


def _exit_in_any_case() -> None:
    """End the process soon even when a thread hangs in a system call that nothing can interrupt."""
    timer = threading.Timer(LAST_BREATH, os._exit, (0,))
    timer.daemon = True
    timer.start()
