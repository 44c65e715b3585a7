"""The demo, as a newcomer runs it."""

import json
import os
import subprocess
from pathlib import Path

from tests.editor import WAYLINE


def test_the_demo_shows_the_plan_live_and_again_from_a_second_process(tmp_path: Path):
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    result = subprocess.run(
        [str(WAYLINE), "demo"], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    first, _, second = result.stdout.partition("A second process loads the session")
    for state in (
        ["[~] Find the fault in pricing.py", "[ ] Mend the discount", "[ ] Run the tests"],
        ["[x] Find the fault in pricing.py", "[~] Mend the discount", "[ ] Run the tests"],
        ["[x] Find the fault in pricing.py", "[x] Mend the discount", "[~] Run the tests"],
        ["[x] Find the fault in pricing.py", "[x] Mend the discount", "[x] Run the tests"],
    ):
        assert "\n".join(f"    {line}" for line in state) in first
    assert second.count("[x] ") == 3
    assert "[~]" not in second
    (log,) = tmp_path.glob("wayline-demo-*/home/sessions/*/*/log.jsonl")
    assert str(log) in second
    settings = json.loads(second[second.index("{") :])
    command = settings["agent_servers"]["Wayline"]["command"]
    assert Path(command).is_absolute()
    assert Path(command).exists()
    # The world, not the program's words: the file was mended and the test passes.
    (workspace,) = tmp_path.glob("wayline-demo-*/workspace")
    test = subprocess.run(["python3", "-m", "unittest"], cwd=workspace, capture_output=True, check=False)
    assert test.returncode == 0, test.stderr
