"""A provider on loopback for agents that are not ours, so that `--conformance` says something of their turns.

`python -m tests.talker PORT` serves the chat dialect (`/v1/chat/completions`) and the responses dialect
(`/v1/responses`) until it is killed. It says hello; told to count, it counts for a minute; told to make a
plan, it calls the first tool for that which the request offers.
"""

import json
import sys
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

#: numbers that are counted, and seconds between two
NUMBERS, PAUSE = 600, 0.1
STEPS = ("Think of frogs", "Count syllables", "Write it down")
#: the tools for plans that are known, and their arguments
PLANNERS: dict[str, Any] = {
    "update_plan": {"plan": [{"step": step, "status": "pending"} for step in STEPS]},
    "todowrite": {"todos": [{"content": s, "status": "pending", "priority": "medium"} for s in STEPS]},
    "todo_write": {"todos": [{"content": step, "status": "pending"} for step in STEPS]},
}
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
CALL = "call_plan_1"

Json = dict[str, Any]


def pieces(told: str) -> Iterator[str]:
    """What is said, as it comes."""
    if "Count from 1" not in told:
        yield "Hello."
        return
    for number in range(NUMBERS):
        yield f"{number + 1}\n"
        time.sleep(PAUSE)


def planner(told: str, tools: list[Json]) -> str | None:
    """The tool to call, when a plan is asked for and not made yet."""
    names = [str(tool.get("function", tool).get("name")) for tool in tools]
    return next((name for name in names if name in PLANNERS), None) if "Make a plan" in told else None


def told_by(items: list[Json]) -> str:
    """The text of the last user message; nothing when a tool has answered since."""
    for item in reversed(items):
        if item.get("role") == "tool" or item.get("type") == "function_call_output":
            return ""
        # Some agents send notes of their own as the user's: they are short of what a prompt asks.
        if item.get("role") == "user":
            return json.dumps(item.get("content"))
    return ""


def chat(request: Json) -> Iterator[Json]:
    """The events of the chat dialect."""
    told = told_by(request["messages"])
    name = planner(told, request.get("tools") or [])
    if name is not None:
        function = {"name": name, "arguments": json.dumps(PLANNERS[name])}
        yield _chunk({"tool_calls": [{"index": 0, "id": CALL, "type": "function", "function": function}]})
    else:
        for piece in pieces(told):
            yield _chunk({"role": "assistant", "content": piece})
    yield {**_chunk({}, "tool_calls" if name else "stop"), "usage": USAGE}


def _chunk(delta: Json, finish: str | None = None) -> Json:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def whole(request: Json) -> Json:
    """The answer of the chat dialect to a request that does not stream."""
    message = {"role": "assistant", "content": "".join(pieces(told_by(request["messages"])))}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": USAGE}


def responses(request: Json) -> Iterator[Json]:
    """The events of the responses dialect."""
    told = told_by(request["input"])
    name = planner(told, request.get("tools") or [])
    yield {"type": "response.created", "response": {"id": "r-1"}}
    if name is not None:
        arguments = json.dumps(PLANNERS[name])
        call = {"type": "function_call", "id": "f-1", "call_id": CALL, "name": name, "arguments": arguments}
        yield {"type": "response.output_item.done", "output_index": 0, "item": call}
    else:
        item: Json = {"type": "message", "id": "m-1", "role": "assistant", "content": []}
        yield {"type": "response.output_item.added", "output_index": 0, "item": item}
        said = ""
        for piece in pieces(told):
            said += piece
            yield {"type": "response.output_text.delta", "item_id": "m-1", "output_index": 0, "delta": piece}
        item = {**item, "content": [{"type": "output_text", "text": said}]}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield {"type": "response.completed", "response": {"id": "r-1", "usage": usage}}


class Talker(BaseHTTPRequestHandler):
    """Answers a request at a time, each on a connection of its own."""

    def do_GET(self) -> None:
        """The list of models."""
        self._answer("application/json", json.dumps({"object": "list", "data": [{"id": "m"}]}).encode())

    def do_POST(self) -> None:
        """One request to the model."""
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path.endswith("/responses"):
            self._stream(responses(request), named=True)
        elif request.get("stream"):
            self._stream(chat(request), named=False)
        else:
            self._answer("application/json", json.dumps(whole(request)).encode())

    def _answer(self, kind: str, body: bytes) -> None:
        self._head(kind)
        self.wfile.write(body)

    def _head(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        self.end_headers()

    def _stream(self, events: Iterator[Json], *, named: bool) -> None:
        self._head("text/event-stream")
        for event in events:
            name = f"event: {event['type']}\n" if named else ""
            try:
                self.wfile.write(f"{name}data: {json.dumps(event)}\n\n".encode())
            except ConnectionError:
                return  # the turn was cancelled
        self.wfile.write(b"" if named else b"data: [DONE]\n\n")

    def log_message(self, *_: Any) -> None:
        """Nothing is said of requests."""


def main() -> None:
    """Serve until killed."""
    with ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Talker) as server:
        server.serve_forever()


if __name__ == "__main__":
    main()
