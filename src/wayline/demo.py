"""`wayline demo`: an ACP client that drives the real `wayline acp` through a small real task.

The model is scripted; everything else is real: the process, the protocol, the files, the tests that run,
the log, and the second process that loads the session.
"""

import asyncio
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema

GLYPHS = {"completed": "[x]", "in_progress": "[~]", "pending": "[ ]"}
PROMPT = "The test of discounted() fails. Find out why, mend it, and run the tests."

FILES = {
    "pricing.py": (
        "def discounted(price: float, percent: float) -> float:\n"
        '    """The price with the discount taken off."""\n'
        "    return price + price * percent / 100\n"
    ),
    "test_pricing.py": (
        "import unittest\n\nfrom pricing import discounted\n\n\n"
        "class Discount(unittest.TestCase):\n"
        "    def test_takes_a_tenth_off(self):\n"
        "        self.assertEqual(discounted(50, 10), 45)\n\n"
        "    def test_leaves_the_price_without_a_discount(self):\n"
        "        self.assertEqual(discounted(50, 0), 50)\n"
    ),
}


def run() -> int:
    """Play the demo; returns the exit status."""
    place = Path(tempfile.mkdtemp(prefix="wayline-demo-"))
    workspace, home = place / "workspace", place / "home"
    workspace.mkdir()
    for name, text in FILES.items():
        (workspace / name).write_text(text, encoding="utf-8")
    session_id = asyncio.run(_first_process(workspace, home))
    plan = asyncio.run(_second_process(workspace, home, session_id))
    mended = "price - price" in (workspace / "pricing.py").read_text(encoding="utf-8")
    _say_goodbye(home, plan is not None and mended)
    return 0 if plan is not None and mended else 1


def command() -> Path:
    """The absolute path of this very command, as an editor must be given it."""
    beside = Path(sys.executable).with_name("wayline")
    return beside if beside.exists() else Path(sys.argv[0]).resolve()


class Terminal:
    """The client's side: prints what an editor would show, and answers questions with yes.

    Of `acp.Client` it has what Wayline calls of a client that advertises nothing.
    """

    def __init__(self) -> None:
        self.plan: list[schema.PlanEntry] | None = None
        self._line_open = False

    async def session_update(self, session_id: str, update: Any, **kwargs: Any) -> None:
        """Show one update."""
        match update:
            case schema.AgentMessageChunk(content=schema.TextContentBlock(text=text)):
                print(text, end="", flush=True)
                self._line_open = not text.endswith("\n")
            case schema.UserMessageChunk(content=schema.TextContentBlock(text=text)):
                self._print(f"> {text}")
            case schema.ToolCallStart():
                self._print(f"  * {update.title}")
            case schema.ToolCallProgress(status="failed"):
                self._print("    failed")
            case schema.AgentPlanUpdate():
                self.plan = update.entries
                self._print(checklist(update.entries))
            case _:
                pass

    async def request_permission(
        self, session_id: str, tool_call: Any, options: Any, **kwargs: Any
    ) -> schema.RequestPermissionResponse:
        """An editor would ask; the demo says yes and says so."""
        self._print(f"  ? {tool_call.title}: allowed (in an editor, you are asked)")
        return schema.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id="allow-once")
        )

    def _print(self, text: str) -> None:
        print(f"\n{text}" if self._line_open else text, flush=True)
        self._line_open = False


def checklist(entries: list[schema.PlanEntry]) -> str:
    """The plan as lines with glyphs."""
    return "\n".join(f"    {GLYPHS[entry.status]} {entry.content}" for entry in entries)


async def _first_process(workspace: Path, home: Path) -> str:
    print(f"An editor starts `wayline acp` in {workspace}\n")
    print(f"> {PROMPT}")
    terminal = Terminal()
    async with _agent(terminal, workspace, home) as (agent, _):
        await agent.initialize(protocol_version=1)
        session = await agent.new_session(cwd=str(workspace), mcp_servers=[])
        answer = await agent.prompt(session_id=session.session_id, prompt=[acp.text_block(PROMPT)])
    print(f"\n\nThe turn ended: {answer.stop_reason}. The process has gone.")
    return str(session.session_id)


async def _second_process(workspace: Path, home: Path, session_id: str) -> list[schema.PlanEntry] | None:
    print("\nA second process loads the session: the conversation and the plan come back.\n")
    terminal = Terminal()
    async with _agent(terminal, workspace, home) as (agent, _):
        await agent.initialize(protocol_version=1)
        await agent.load_session(cwd=str(workspace), session_id=session_id, mcp_servers=[])
    return terminal.plan


def _agent(terminal: Terminal, workspace: Path, home: Path) -> Any:
    environment = {**os.environ, "WAYLINE_HOME": str(home)}
    return acp.spawn_agent_process(
        cast(acp.Client, terminal),
        str(command()),
        "acp",
        "--model",
        "scripted",
        env=environment,
        cwd=workspace,
    )


def _say_goodbye(home: Path, came_true: bool) -> None:
    logs = [str(log) for log in home.glob("sessions/*/*/log.jsonl")]
    entry = {
        "agent_servers": {
            "Wayline": {
                "type": "custom",
                "command": str(command()),
                "args": ["acp"],
                "env": {"DEEPSEEK_API_KEY": "…"},
            }
        }
    }
    print(
        "\nThe plan is back, and the fault is mended." if came_true else "\nSomething went wrong: see above."
    )
    print(f"The session's log: {', '.join(logs)}")
    print("\nFor Zed, put this into settings.json, with your key:\n")
    print(json.dumps(entry, indent=2, ensure_ascii=False))
