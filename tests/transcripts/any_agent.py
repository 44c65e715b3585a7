"""An agent that holds the protocol, and has one fault when it is told one: `any_agent.py [FAULT]`.

A fault is named for the file of the conformance set that it breaks. The agent needs nothing but Python, says
hello, and counts until it is cancelled. Its sessions are in a file of `WAYLINE_HOME`.
"""

import json
import os
import sys
import threading
import time
from pathlib import Path
from typing import Any, NoReturn

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
STORE = Path(os.environ["WAYLINE_HOME"], "any-agent.json")
MODES = [{"id": "ask", "name": "Ask"}, {"id": "do", "name": "Do"}]
STEPS = [{"content": each, "priority": "low", "status": "pending"} for each in ("one", "two")]
WRITING = threading.Lock()

sessions: dict = json.loads(STORE.read_text()) if STORE.exists() else {}
open_sessions: set = set()
running: dict = {}
seen: list = []  # what faults remember


class Refused(Exception):
    """A request that is answered by an error."""


def write(**frame: Any) -> Any:
    with WRITING:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **frame}) + "\n")
        sys.stdout.flush()


def update(session: Any, kind: Any, **more: Any) -> Any:
    other = "another" if FAULT == "prompt-updates" and kind == "agent_message_chunk" else session
    odd = {"verified": True} if FAULT == "schema" else {}
    write(
        method="session/update", params={"sessionId": other, "update": {"sessionUpdate": kind, **more}, **odd}
    )


def say(session: Any, text: Any, kind: str = "agent_message_chunk") -> Any:
    update(session, kind, content={"type": "text", "text": text})


def refuse(code: Any, message: str = "no") -> NoReturn:
    raise Refused({"code": code, "message": message})


def options() -> Any:
    values = [{"value": each["id"], "name": each["name"]} for each in MODES]
    more = [{"id": "brave", "name": "Brave", "type": "boolean", "currentValue": True}]
    mode = {"id": "mode", "name": "Mode", "type": "select", "currentValue": "ask", "options": values}
    return [mode, *(more if FAULT == "config-option-types" else [])]


def initialize(params: Any) -> Any:
    version = params["protocolVersion"]
    known = version if FAULT == "initialize-unknown-version" else 2 if FAULT == "initialize-version" else 1
    result = {"protocolVersion": known}
    if FAULT != "initialize-capabilities":
        lifecycle: dict[str, Any] = {name: {} for name in ("list", "close", "resume", "delete")}
        result["agentCapabilities"] = {"loadSession": True, "sessionCapabilities": lifecycle}
    if FAULT != "initialize-info":
        result["agentInfo"] = {"name": "any", "version": "1"}
    return result


def new(params: Any) -> Any:
    cwd = params.get("cwd")
    if FAULT == "no-model":
        refuse(-32000, "sign in first")
    if not isinstance(cwd, str):
        refuse(-32603 if FAULT == "rpc-invalid-params" else -32602)
    if not Path(cwd).is_absolute() and FAULT != "session-relative-cwd":
        refuse(-32602)
    if FAULT == "cancel-leaves-no-updates" and seen:
        say(seen[0], "one more")
    number = 0 if FAULT == "session-ids-differ" else len(sessions)
    session = "" if FAULT == "session-new" else f"s{number}"
    sessions[session] = cwd
    open_sessions.add(session)
    STORE.write_text(json.dumps(sessions))
    return {
        "sessionId": session,
        "modes": {"currentModeId": "ask", "availableModes": MODES},
        "configOptions": options(),
    }


def listing(params: Any) -> Any:
    fitting = {key: cwd for key, cwd in sessions.items() if cwd == params["cwd"]}
    if FAULT == "list-is-empty" and not fitting:
        return {}
    cwds = FAULT != "list-of-a-folder"
    return {
        "sessions": [{"sessionId": key, **({"cwd": cwd} if cwds else {})} for key, cwd in fitting.items()]
    }


def load(params: Any) -> Any:
    if FAULT != "load-replays":
        say(params["sessionId"], "hello?", "user_message_chunk")
        say(params["sessionId"], "Hello.")
    open_sessions.add(params["sessionId"])
    seen.append(params["sessionId"])
    return {}


def resume(params: Any) -> Any:
    if FAULT == "resume-without-replay":
        say(params["sessionId"], "hello?", "user_message_chunk")
    open_sessions.add(params["sessionId"])
    return {}


def close(params: Any) -> Any:
    if FAULT == "close-answers":
        refuse(-32603)
    if params["sessionId"] in running:
        running.pop(params["sessionId"]).set()
    return {}


def delete(params: Any) -> Any:
    if FAULT != "delete-takes-it-off-the-list":
        sessions.pop(params["sessionId"])
    return {}


def set_mode(params: Any) -> Any:
    known = params["modeId"] in ("ask", "do") or FAULT == "mode-unknown"
    if not known or FAULT == "mode-set":
        refuse(-32602)
    return {}


def set_option(params: Any) -> Any:
    return {} if FAULT == "config-option-set" else {"configOptions": options()}


def cancel(params: Any) -> Any:
    session = params["sessionId"]
    seen.append(session)
    if session in running:
        running.pop(session).set()
    elif session not in sessions and FAULT == "rpc-notification-gets-no-answer":
        write(id=None, error={"code": -32602, "message": "there is no such session"})


def prompt(number: Any, params: Any) -> Any:
    """A turn, in a thread of its own when it counts."""
    session, text = params["sessionId"], params["prompt"][0]["text"]
    if session not in open_sessions and FAULT != "prompt-unknown-session":
        refuse(-32002)
    busy = {
        "cancel-then-prompt": bool(seen),
        "load-then-prompt": bool(seen),
        "prompt-in-two-sessions": session == "s1",
        "prompt-resource-link": len(params["prompt"]) > 1,
    }
    if busy.get(FAULT):
        refuse(-32603)
    if text.startswith("Count"):
        running[session] = threading.Event()
        threading.Thread(target=count, args=(number, session, running[session]), daemon=True).start()
        return
    if text.startswith("Make a plan"):
        bad = [{"content": "three", "status": "pending"}] if FAULT == "plan-entries" else []
        update(session, "plan", entries=[*STEPS, *bad])
    if FAULT == "prompt-asks-nothing-unoffered":
        write(id="q", method="fs/read_text_file", params={"sessionId": session, "path": "/notes.txt"})
    if FAULT == "stdio-messages-only":
        sys.stdout.write("thinking…\n")
    say(session, "Hello.")
    reason = "done" if FAULT == "prompt-stop-reason" else "end_turn"
    if FAULT == "cancel-of-an-idle-session" and seen:
        reason = "cancelled"
    write(id=number, result={"stopReason": reason})


def count(number: Any, session: Any, cancelled: Any) -> Any:
    say(session, "1")
    cancelled.wait(60)
    unsaid = FAULT in ("cancel-ends-the-turn", "close-ends-the-turn")
    write(id=number, result={"stopReason": "end_turn" if unsaid else "cancelled"})


METHODS = {
    "initialize": initialize,
    "session/new": new,
    "session/list": listing,
    "session/load": load,
    "session/resume": resume,
    "session/close": close,
    "session/delete": delete,
    "session/set_mode": set_mode,
    "session/set_config_option": set_option,
}


def request(number: Any, method: Any, params: Any) -> Any:
    if "_meta" in params and FAULT == "extension-meta":
        refuse(-32602)
    if method == "session/prompt":
        prompt(number, params)
    elif method in METHODS:
        write(id=number, result=METHODS[method](params))
    elif method.startswith("_") and FAULT == "extension-request":
        write(id=number, result=None)
    else:
        refuse(-32603 if FAULT == "rpc-unknown-method" else -32601)


def take(line: Any) -> Any:
    try:
        frame = json.loads(line)
    except ValueError:
        if FAULT == "rpc-goes-on-after-a-bad-line":
            sys.exit(1)
        if FAULT != "rpc-parse-error":
            write(id=None, error={"code": -32700, "message": "Parse error"})
        return
    if "method" not in frame:
        return
    if "id" not in frame:
        if frame["method"] == "session/cancel":
            cancel(frame["params"])
        elif FAULT == "extension-notification":
            write(id=None, error={"code": -32601, "message": "no such notification"})
        return
    number = 7 if FAULT == "rpc-string-id" else frame["id"]
    try:
        request(number, frame["method"], frame["params"])
    except Refused as refusal:
        write(id=number, error=refusal.args[0])


if __name__ == "__main__":
    for each in sys.stdin:
        take(each)
    if FAULT == "stdio-end-of-input":
        time.sleep(60)
