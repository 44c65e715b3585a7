"""What may write to stdout once the wire is claimed: nothing but the wire."""

import subprocess
import sys

import pytest

OPEN_FILES = """
import os, sys

for descriptor in map(int, sys.argv[1:]):
    try:
        os.fstat(descriptor)
        print(descriptor, "is open")
    except OSError:
        pass
"""
CLAIMING = f"""
import os, subprocess, sys
from wayline.wire.stdio import claim

wire_in, wire_out = claim()
print("printed", flush=True)
os.write(1, b"written\\n")
subprocess.run(["echo", "from a child"], check=True)
looking = [sys.executable, "-c", {OPEN_FILES!r}, str(wire_in), str(wire_out)]
subprocess.run(looking, close_fds=False, check=True)
subprocess.run(["cat"], check=True)
os.write(wire_out, b"wire: " + os.read(wire_in, 100) + b"stdin: " + os.read(0, 100) + b"\\n")
"""
Ran = subprocess.CompletedProcess[bytes]


@pytest.fixture(scope="module")
def claimed() -> Ran:
    return subprocess.run(
        [sys.executable, "-c", CLAIMING], check=True, input=b"hello\n", capture_output=True, timeout=30
    )


def test_the_wire_takes_stdin_and_stdout_and_nobody_else_does(claimed: Ran):
    assert claimed.stdout == b"wire: hello\nstdin: \n"


def test_what_is_printed_goes_to_stderr(claimed: Ran):
    assert claimed.stderr.splitlines() == [b"printed", b"written", b"from a child"]
