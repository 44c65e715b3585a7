"""A client that reads slowly, or not at all for a while, loses nothing and costs little."""

import json
import os
import subprocess
from pathlib import Path

from tests.acp.conftest import log_of, of_type
from tests.editor import WAYLINE

WORD = "0123456789abcdef" * 4
WORDS = 100_000


def test_what_is_not_read_for_a_while_waits_in_the_log_and_then_comes_joined(
    workspace: Path, home: Path, tmp_path: Path
):
    """The answer is larger than any pipe; until it is read the agent must neither block nor grow."""
    script = tmp_path / "script.jsonl"
    script.write_text(json.dumps([{"deltas": [WORD] * WORDS}]) + "\n", encoding="utf-8")
    process = subprocess.Popen(
        [str(WAYLINE), "acp", "--model", f"scripted:{script}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "WAYLINE_HOME": str(home)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    to_agent, from_agent = process.stdin, process.stdout

    def ask(request_id: int, method: str, params: object) -> None:
        frame = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
        to_agent.write(json.dumps(frame).encode() + b"\n")
        to_agent.flush()

    with process, to_agent, from_agent:
        ask(1, "initialize", {"protocolVersion": 1})
        from_agent.readline()
        ask(2, "session/new", {"cwd": str(workspace), "mcpServers": []})
        session = json.loads(from_agent.readline())["result"]["sessionId"]
        ask(3, "session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
        (path,) = home.glob(f"sessions/*/{session}/log.jsonl")
        # Without anybody reading, the turn goes on to its end: the log is the buffer.
        while b'"turn/end"' not in path.read_bytes()[-400:]:
            assert process.poll() is None
        said = []
        while True:
            line = from_agent.readline()
            assert len(line) < 64 * 1024
            frame = json.loads(line)
            if frame.get("id") == 3:
                break
            update = frame["params"]["update"]
            if update["sessionUpdate"] == "agent_message_chunk":
                said.append(update["content"]["text"])
        assert "".join(said) == WORD * WORDS
        assert len(said) < WORDS / 100, "the deltas were not joined"
    (message,) = of_type(log_of(home, session), "assistant/message")
    assert message["content"][0]["text"] == WORD * WORDS
