"""`python -m benchmarks [start | first-chunk | streaming | pace | request | transcripts]…`: prints what
was measured.

Ratios and differences are taken side by side in one run, medians of several. Run it on an idle machine.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx2

from benchmarks.client import ECHO, WAYLINE, agent, provider

RUNS = 9
CHUNKS = 5_000

BARE = """
import json, sys, time, asyncio, httpx2
async def main(url):
    async with httpx2.AsyncClient() as client:
        for text in ("warm-up", "go"):
            begun = time.perf_counter()
            body = json.dumps({"messages": [{"role": "user", "content": text}]}, separators=(",", ":"))
            async with client.stream("POST", url + "/chat/completions", content=body) as response:
                took = None
                async for line in response.aiter_lines():
                    if took is None and "twenty" in line:
                        took = time.perf_counter() - begun
    print(took)
asyncio.run(main(sys.argv[1]))
"""


def start(folder: Path) -> None:
    """From the spawn to the answer of `session/new`, against an echo agent on the SDK."""
    times: dict[str, list[float]] = {"echo": [], "wayline": []}
    for _ in range(RUNS + 1):
        for name, command in (("echo", ECHO), ("wayline", WAYLINE)):
            with agent(command, folder) as running:
                running.new(folder)
                times[name].append(time.perf_counter() - running.started)
    # The first run of each fills caches and writes bytecode.
    echo, ours = (statistics.median(times[name][1:]) for name in ("echo", "wayline"))
    report("start", f"{ours / echo:.3f} x an echo agent on the SDK", "0.22", f"{ours:.3f} s, {echo:.3f} s")


def first_chunk(folder: Path) -> None:
    """From the prompt to the first message chunk, against a bare httpx2 loop; both warmed up."""
    ours, bare = [], []
    with provider(20) as url:
        for _ in range(RUNS):
            with agent(WAYLINE, folder, url) as running:
                session = running.new(folder)
                running.prompt(session, "warm-up")
                ours.append(running.prompt(session, "go", until=b"agent_message_chunk"))
            out = subprocess.run([sys.executable, "-c", BARE, url], capture_output=True, check=True)
            bare.append(float(out.stdout))
    late = 1000 * (statistics.median(ours) - statistics.median(bare))
    report(
        "first chunk",
        f"+ {late:.1f} ms to a bare httpx2 loop",
        "+ 10 ms",
        f"{1000 * statistics.median(ours):.1f} ms",
    )


def streaming(folder: Path) -> None:
    """5,000 chunks of 20 characters as fast as they come: processor time and memory of the tree."""
    _stream("streaming", folder, 0.0, "0.42 s")


def pace(folder: Path) -> None:
    """The same spread over five seconds."""
    _stream("at a person's pace", folder, 5.0, "1.0 s")


def _stream(name: str, folder: Path, seconds: float, target: str) -> None:
    used, peak = [], []
    with provider(CHUNKS, seconds) as url:
        for _ in range(5 if not seconds else 3):
            with agent(WAYLINE, folder, url) as running:
                session = running.new(folder)
                running.prompt(session, "warm-up")
                before = running.processor_seconds()
                running.prompt(session, "go")
                used.append(running.processor_seconds() - before)
                peak.append(running.peak_megabytes())
    report(name, f"{statistics.median(used):.2f} s of processor time", target, f"{CHUNKS} chunks")
    report(f"  memory ({name})", f"{statistics.median(peak):.0f} MB at most", "74 MB", "")


def request(folder: Path) -> None:
    """The bytes of a turn's first request: system prompt and tools."""
    import socket
    import threading

    with socket.create_server(("127.0.0.1", 0)) as server:
        body: list[bytes] = []

        def take() -> None:
            from benchmarks.provider import DELTA, END, HEAD, requests

            connection, _ = server.accept()
            with connection:
                for each in requests(connection):
                    body.append(each)
                    connection.sendall(HEAD + DELTA + END)

        threading.Thread(target=take, daemon=True).start()
        with agent(WAYLINE, folder, f"http://127.0.0.1:{server.getsockname()[1]}") as running:
            session = running.new(folder)
            running.prompt(session, "x", until=b'"id"')
    tools = len(json.loads(body[0])["tools"])
    report("cost of a request", f"{len(body[0]) / 1024:.1f} KB", "14 KB", f"{tools} tools")


def transcripts(folder: Path) -> None:
    """A small transcript with a plan, played many times: in this process, and as processes."""
    from benchmarks.transcripts import commands, in_process

    each = in_process(300)
    report("transcripts in process", f"{1 / each:.0f} a second of processor time", "100", "")
    each = commands(20)
    report("transcripts as processes", f"{1 / each:.1f} a second, two at once", "", "the agent's start")


def report(what: str, figure: str, target: str, detail: str) -> None:
    """One line of the table."""
    print(f"{what:24} {figure:44} must reach {target:10} {detail}", flush=True)


ALL: dict[str, Callable[[Path], None]] = {
    "start": start,
    "first-chunk": first_chunk,
    "streaming": streaming,
    "pace": pace,
    "request": request,
    "transcripts": transcripts,
}


def main() -> None:
    """Run those that are named, or all."""
    names = sys.argv[1:] or list(ALL)
    unknown = [name for name in names if name not in ALL]
    if unknown:
        raise SystemExit(f"there is no benchmark {unknown[0]!r}; there are {', '.join(ALL)}")
    print(f"Python {sys.version.split()[0]}, httpx2 {httpx2.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            ALL[name](Path(folder))


if __name__ == "__main__":
    main()
