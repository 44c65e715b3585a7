"""Requests as bytes: what one says in full, and that no message is encoded twice."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from inline_snapshot import snapshot

from wayline.log.content import (
    ContentBlock,
    Image,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from wayline.models.base import ModelRequest, ToolSpec
from wayline.models.catalog import PROVIDERS, ProviderConfig
from wayline.models.chat_request import RequestEncoder

READ = ToolSpec(
    "read",
    "Reads a file.",
    {"type": "object", "properties": {"file_path": {"type": "string"}}, "required": ["file_path"]},
)


def user(words: str) -> Message:
    return Message("user", (Text(words),))


def request(history: Sequence[Message], session: str = "s", tools: tuple[ToolSpec, ...] = ()) -> ModelRequest:
    return ModelRequest(session, "Be good.", history, tools, ordinal=0, turn=1, step=1)


def encoder(**config: Any) -> RequestEncoder:
    return RequestEncoder("m-1", ProviderConfig(base_url="http://127.0.0.1:1", **config))


def said(body: bytes) -> list[str]:
    """The contents of a request's messages, without the system's."""
    return [message["content"] for message in json.loads(body)["messages"][1:]]


class Counting(RequestEncoder):
    """Counts the messages it encodes."""

    def __init__(self) -> None:
        super().__init__("m-1", ProviderConfig(base_url="http://127.0.0.1:1"))
        self.encoded = 0

    def _piece(self, message: Message) -> bytes:
        self.encoded += 1
        return super()._piece(message)


def test_a_whole_request():
    history = [
        user("Read a.txt and b.txt."),
        Message(
            "assistant",
            (
                Reasoning("Two files, "),
                Reasoning("at once."),
                Text("Reading."),
                ToolCall("c1", "read", '{"file_path": "a.txt"}'),
                ToolCall("c2", "read", '{"file_path": "b.txt"}'),
            ),
        ),
        Message("tool", (ToolResult("c1", (Text("A"), Text("more"))),)),
        Message("tool", (ToolResult("c2", (Text("no such file"),), is_error=True),)),
        Message("assistant", (Reasoning("Only a."), Text("a says A."))),
        user("Thanks — ünïcode and 🎉."),
    ]
    body = RequestEncoder("deepseek-v4-flash", PROVIDERS["deepseek"]).body(request(history, tools=(READ,)))
    readable = json.dumps(json.loads(body), indent=1, ensure_ascii=False)
    assert readable == snapshot("""\
{
 "model": "deepseek-v4-flash",
 "stream": true,
 "stream_options": {
  "include_usage": true
 },
 "tools": [
  {
   "type": "function",
   "function": {
    "name": "read",
    "description": "Reads a file.",
    "parameters": {
     "type": "object",
     "properties": {
      "file_path": {
       "type": "string"
      }
     },
     "required": [
      "file_path"
     ]
    }
   }
  }
 ],
 "messages": [
  {
   "role": "system",
   "content": "Be good."
  },
  {
   "role": "user",
   "content": "Read a.txt and b.txt."
  },
  {
   "role": "assistant",
   "content": "Reading.",
   "tool_calls": [
    {
     "id": "c1",
     "type": "function",
     "function": {
      "name": "read",
      "arguments": "{\\"file_path\\": \\"a.txt\\"}"
     }
    },
    {
     "id": "c2",
     "type": "function",
     "function": {
      "name": "read",
      "arguments": "{\\"file_path\\": \\"b.txt\\"}"
     }
    }
   ],
   "reasoning_content": "Two files, at once."
  },
  {
   "role": "tool",
   "tool_call_id": "c1",
   "content": "A\\nmore"
  },
  {
   "role": "tool",
   "tool_call_id": "c2",
   "content": "no such file"
  },
  {
   "role": "assistant",
   "content": "a says A."
  },
  {
   "role": "user",
   "content": "Thanks — ünïcode and 🎉."
  }
 ]
}\
""")
    assert json.dumps(json.loads(body), separators=(",", ":"), ensure_ascii=False).encode() == body


@pytest.mark.parametrize(
    ("raw", "sent"),
    [
        ('{"a": 1}', '{"a": 1}'),
        ("", "{}"),
        ("  ", "{}"),
        ('{"a": ', '{"malformed": "{\\"a\\": "}'),
        ("[1]", '{"malformed": "[1]"}'),
        ("[" * 100_000, json.dumps({"malformed": "[" * 100_000})),
    ],
    ids=["an object", "empty", "blank", "cut", "a list", "too deep"],
)
def test_arguments_that_are_no_object_go_back_as_one(raw: str, sent: str):
    """Servers that read them to fill a template refuse the whole request otherwise, and every later one."""
    history = [user("x"), Message("assistant", (ToolCall("c", "read", raw),))]
    (made,) = json.loads(encoder().body(request(history)))["messages"][2]["tool_calls"]
    assert json.loads(made["function"]["arguments"]) == json.loads(sent)


def test_arguments_that_are_an_object_go_back_as_they_came():
    raw = '{ "b":1,\n"a" : 2 }'
    history = [user("x"), Message("assistant", (ToolCall("c", "read", raw),))]
    (made,) = json.loads(encoder().body(request(history)))["messages"][2]["tool_calls"]
    assert made["function"]["arguments"] == raw


def test_a_call_without_a_name_goes_back_with_one():
    history = [user("x"), Message("assistant", (ToolCall("c", "", "{}"),))]
    (made,) = json.loads(encoder().body(request(history)))["messages"][2]["tool_calls"]
    assert made["function"]["name"] == "unknown"


def test_options_of_the_settings_are_part_of_the_body():
    body = encoder(extra_body={"thinking": {"type": "disabled"}, "stream_options": None}).body(
        request([user("x")])
    )
    assert json.loads(body)["thinking"] == {"type": "disabled"}
    assert json.loads(body)["stream_options"] is None


def test_a_thousand_turns_encode_each_message_once():
    counting = Counting()
    history: list[Message] = []
    for turn in range(1000):
        history.append(user(f"question {turn}"))
        body = counting.body(request(history))
        history.append(Message("assistant", (Text(f"answer {turn}"),)))
    assert counting.encoded == 1999
    assert said(body)[-2:] == ["answer 998", "question 999"]
    assert len(said(body)) == 1999


def test_a_retry_encodes_nothing():
    counting = Counting()
    history = [user("a"), user("b")]
    assert counting.body(request(history)) == counting.body(request(history))
    assert counting.encoded == 2


def changes() -> list[tuple[str, list[Message], int]]:
    """A history of five after a change, and how many of its messages must be encoded anew."""
    a, b, c, d, e = MESSAGES
    new = user("new")
    return [
        ("grown", [a, b, c, d, e, new], 1),
        ("last replaced", [a, b, c, d, new], 1),
        ("first replaced", [new, b, c, d, e], 5),
        ("one in the middle replaced", [a, b, new, d, e], 3),
        ("a run replaced and as long again", [a, new, e, new, e], 4),
        ("shorter", [a, b], 0),
        ("shorter and grown", [a, b, new, new, new, new], 4),
        ("empty", [], 0),
        ("equal but not the same", [user("a"), b, c, d, e], 5),
    ]


MESSAGES = [user(name) for name in "abcde"]


@pytest.mark.parametrize(("what", "changed", "anew"), changes(), ids=[what for what, _, _ in changes()])
def test_what_changed_is_encoded_and_the_beginning_that_did_not_is_kept(
    what: str, changed: list[Message], anew: int
):
    counting = Counting()
    counting.body(request(MESSAGES))
    before = counting.encoded
    body = counting.body(request(changed))
    expected = [block.text for message in changed for block in message.content if isinstance(block, Text)]
    assert said(body) == expected
    assert counting.encoded - before == anew


def test_sessions_are_apart():
    counting = Counting()
    for _ in range(2):
        for name in ("one", "two"):
            assert said(counting.body(request([MESSAGES[0], user(name)], session=name))) == ["a", name]
    assert counting.encoded == 6


def test_as_many_sessions_as_one_likes_are_asked_for():
    """Those that were silent longest are encoded anew; none is mixed up."""
    counting = Counting()
    histories = [[user(f"first of {number}")] for number in range(200)]
    for _ in range(2):
        for number, history in enumerate(histories):
            assert said(counting.body(request(history, session=str(number)))) == [f"first of {number}"]
            history.append(user("more"))
            said_now = said(counting.body(request(history, session=str(number))))
            assert said_now[:2] == [f"first of {number}", "more"]
            history.pop()


@pytest.mark.parametrize(
    ("content", "sent"),
    [
        ((Text("a"), Text("b")), "a\nb"),
        (
            (Text("a"), Image(data="AAAA", mime_type="image/png")),
            "a\n[an image that this model cannot be shown]",
        ),
        ((), ""),
    ],
)
def test_a_tool_says_text(content: tuple[ContentBlock, ...], sent: str):
    results = tuple(block for block in content if isinstance(block, Text | Image))
    history = [user("x"), Message("tool", (ToolResult("c", results),))]
    assert said(encoder().body(request(history)))[1] == sent
