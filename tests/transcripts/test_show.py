"""`wayline transcript show`: what a person reads, and that foreign text stays text."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from inline_snapshot import snapshot

from wayline.transcripts.format import KINDS, Transcript, TranscriptError, parse
from wayline.transcripts.showing.differences import hunks
from wayline.transcripts.showing.foreign import harmless, lines_of, shortened
from wayline.transcripts.showing.markup import element
from wayline.transcripts.showing.page import page
from wayline.transcripts.showing.show import shown

WHERE = Path("x.jsonl")


def each_of(words: str) -> list[str]:
    return words.split()


def transcript(*steps: dict[str, Any], **meta: Any) -> Transcript:
    lines = [{"meta": {"name": "x", **meta}}, *steps]
    return parse("\n".join(map(json.dumps, lines)), WHERE)


def text_of(*steps: dict[str, Any], width: int = 100, **meta: Any) -> str:
    """What is shown without the opening."""
    whole = shown(transcript(*steps, **meta), colour=False, width=width)
    return whole.split("\n\n", maxsplit=1)[1]


def update(session: str | None = None, **update: Any) -> dict[str, Any]:
    of = {} if session is None else {"sessionId": session}
    return {"expect": {"method": "session/update", "params": {**of, "update": update}}}


def plan(*entries: tuple[str, str], session: str | None = None) -> dict[str, Any]:
    rows = [{"content": content, "status": status, "priority": "medium"} for content, status in entries]
    return update(session, sessionUpdate="plan", entries=rows)


def chunk(text: str, kind: str = "agent_message_chunk", **more: Any) -> dict[str, Any]:
    return update(sessionUpdate=kind, content={"type": "text", "text": text}, **more)


def permission(**more: Any) -> dict[str, Any]:
    options = [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}]
    params = {"toolCall": {"toolCallId": "c", "title": "Run ls"}, "options": options, **more}
    return {"expect": {"method": "session/request_permission", "params": params}}


SELECTED = {"outcome": {"outcome": "selected", "optionId": "yes"}}
ASK: dict[str, Any] = {"method": "session/request_permission"}

EVERYTHING: list[dict[str, Any]] = [
    {"send": {"method": "initialize", "params": {"protocolVersion": 1}}, "as": "init"},
    {"expect": {"result": {"protocolVersion": 1}}, "to": "init"},
    {"send": {"method": "session/new", "params": {"cwd": "${cwd}"}}, "as": "new"},
    {"expect": {"result": {"sessionId": "${session:=…}"}}, "to": "new", "exact": True},
    {
        "send": {
            "method": "session/prompt",
            "params": {
                "sessionId": "${session}",
                "prompt": [
                    {"type": "text", "text": "Set the mode.\nTo release."},
                    {"type": "resource_link", "name": "config", "uri": "file:///c"},
                ],
            },
        },
        "as": "p1",
    },
    chunk("Let me ", "agent_thought_chunk"),
    chunk("see.", "agent_thought_chunk"),
    plan(("Read", "in_progress"), ("Ask", "pending"), session="${session}"),
    plan(("Read", "completed"), ("Write", "in_progress"), session="${session}"),
    update(
        "${session}",
        sessionUpdate="tool_call",
        toolCallId="${call:=…}",
        title="Edit config.txt",
        kind="edit",
        status="pending",
        locations=[{"path": "${cwd}/config.txt", "line": 1}],
        rawInput={"path": "config.txt"},
        content=[
            {"type": "diff", "path": "config.txt", "oldText": "a\nmode=DEBUG\n", "newText": "a\nmode=RELEASE"}
        ],
    ),
    {
        "expect": {
            **ASK,
            "params": {
                "sessionId": "${session}",
                "toolCall": {"toolCallId": "${call}", "kind": "edit"},
                "options": [{"optionId": "yes", "name": "Allow", "kind": "allow_once"}],
            },
        }
    },
    {"answer": SELECTED, "to": ASK},
    {"answer": {}, "to": {"method": "fs/write_text_file", "params": {"path": "/c", "content": "one\ntwo\n"}}},
    {
        "answer": {"terminalId": "t"},
        "to": {"method": "terminal/create", "params": {"command": "ls", "args": ["-l"], "cwd": "/"}},
    },
    {
        "answer": {"output": "a\nb\n", "truncated": True, "exitStatus": {"exitCode": 2}},
        "to": {"method": "terminal/output", "params": {"terminalId": "t"}},
    },
    {
        "refuse": {"code": -32603, "message": "no", "data": 1},
        "to": {"method": "fs/read_text_file", "params": {"path": "/x"}},
    },
    update(
        "${session}",
        sessionUpdate="tool_call_update",
        toolCallId="${call}",
        status="failed",
        content=[{"type": "content", "content": {"type": "text", "text": "disk full"}}],
        rawOutput={"error": "ENOSPC"},
    ),
    {"text": "DONE", "until": "p1"},
    {"forbid": {"method": "session/update"}, "until": "p1"},
    {
        "unordered": [
            update("s2", sessionUpdate="session_info_update", title="T", updatedAt="2026-01-01T00:00:00Z"),
            {"expect": {"result": {"stopReason": "end_turn", "usage": {"n": 1}}}, "to": "p1"},
        ]
    },
    {"send": {"method": "session/prompt", "params": {"sessionId": "gone", "prompt": []}}, "as": "p2"},
    {"expect": {"error": {"code": -32002, "message": "Resource not found", "data": {"a": 1}}}, "to": "p2"},
    {"send": {"method": "session/cancel", "params": {"sessionId": "${session}"}}},
    {"log": {"type": "todo/write", "data": {"todos": []}}, "times": 2},
    {"file": {"path": "config.txt", "text": "a\nmode=RELEASE\n"}},
    {"file": {"path": "old.txt", "absent": True}},
    {"restart": True},
    {"kill": True},
    {"line": "no json \udc80\x07"},
    {"expect": {"method": "ext/ping", "params": 1}},
    {"note": "That was it."},
    {"need": {"method": "session/update"}, "until": "p1"},
    {"need": {"result": {"modes": {}}}, "to": "new"},
    {"running": "p2"},
    {"eof": True},
]


def test_every_kind_of_step_is_shown() -> None:
    assert {kind for step in EVERYTHING for kind in step if kind in KINDS} == set(KINDS)
    whole = transcript(
        *EVERYTHING, about="What it is", model="replay:a.jsonl", files={"config.txt": "a\nb\n"}
    )
    assert shown(whole, colour=False, width=80) == snapshot("""\
 1  transcript  x
      What it is
      model: replay:a.jsonl
      file config.txt:
        a
        b

 2  client asks  initialize  init
      {"protocolVersion": 1}

 3  agent answers  initialize (init)
      {"protocolVersion": 1}

 4  client asks  session/new  new
      {"cwd": "${cwd}"}

 5  agent answers  session/new (new)
      {"sessionId": "${session:=…}"}
      exactly this

 6  you [session]  p1
      Set the mode.
      To release.
      link: config file:///c

 7  thought
      Let me see.

 9  plan [session]
      [~] Read
      [ ] Ask

10  plan [session]
      [x] Read  (was in_progress)
      [~] Write  (new)
       -  Ask  (gone)

11  tool [session]  Edit config.txt  edit · pending
      @ ${cwd}/config.txt:1
      in: {"path": "config.txt"}
      change of config.txt
      @@ -1,2 +1,2 @@
       a
      -mode=DEBUG
      +mode=RELEASE
      \\ no newline at the end

12  agent asks [session]  session/request_permission  Edit config.txt
      ? yes  (Allow, allow_once)
13    > yes (Allow)
      with {"kind": "edit"}

14  agent asks  fs/write_text_file  /c
      one
      two
14    > {}

15  agent asks  terminal/create  $ ls -l
15    > {"terminalId": "t"}
      with {"cwd": "/"}

16  agent asks  terminal/output  t
      terminal, cut at its beginning, exit 2:
        a
        b

17  agent asks  fs/read_text_file  /x
17    > error -32603 no 1

18  tool, on [session]  Edit config.txt  edit · failed
      disk full
      out: {"error": "ENOSPC"}

19  agent
      DONE
      until the answer to p1

20  must not come  before the answer to p1
      {"method": "session/update"}

21  in any order
21    update [s2]  session_info_update  T, 2026-01-01T00:00:00Z
21    agent answers  stopped: end_turn  session/prompt (p1)
        with {"usage": {"n": 1}}

22  you [gone]  p2

23  agent answers  error: -32002 Resource not found {"a": 1}  session/prompt (p2)

24  client tells [session]  session/cancel
      {"sessionId": "${session}"}

25  log has [session]  todo/write  2 times
      {"data": {"todos": []}}

26  file holds  config.txt
      a
      mode=RELEASE

27  file is not there  old.txt

28  restart  the agent ends and starts again

29  kill  the agent is killed and starts again

30  client sends a line
      no json \\udc80␇

31  agent sends
      {"method": "ext/ping", "params": 1}

32  note
      That was it.

33  note
      Only if there is, before the answer to p1: {"method": "session/update"}

34  note
      Only if there is, in the answer to new: {"result": {"modes": {}}}

35  note
      Only if p2 has no answer yet.

36  eof  the agent's stdin is closed, and it ends
""")


def test_chunks_that_go_on_are_one_text() -> None:
    assert text_of(chunk("Hel"), chunk("lo")) == snapshot("""\
2  agent
     Hello
""")


def test_chunks_of_others_are_texts_of_their_own() -> None:
    told = text_of(chunk("a"), chunk("b", "agent_thought_chunk"), chunk("c", messageId="2"), chunk("d"))
    assert re.findall(r"^ +([abcd])$", told, re.MULTILINE) == ["a", "b", "c", "d"]


def test_words_of_a_person_that_the_agent_sends_again_are_told_apart() -> None:
    assert text_of(chunk("hi", "user_message_chunk")) == snapshot("""\
2  you, sent back
     hi
""")


def test_a_plan_tells_what_changed() -> None:
    told = text_of(
        plan(("a", "pending"), ("b", "pending")),
        plan(("a", "in_progress"), ("b", "pending"), ("c", "pending")),
        plan(("a", "in_progress"), ("b", "pending"), ("c", "pending")),
        plan(("c", "blocked")),
        plan(),
    )
    assert told == snapshot("""\
2  plan
     [ ] a
     [ ] b

3  plan
     [~] a  (was pending)
     [ ] b
     [ ] c  (new)

4  plan  the same again
     [~] a
     [ ] b
     [ ] c

5  plan
     [?] c  (blocked, was pending)
      -  a  (gone)
      -  b  (gone)

6  plan  empty
      -  c  (gone)
""")


def test_plans_are_compared_within_their_session() -> None:
    told = text_of(plan(("a", "pending"), session="s1"), plan(("b", "pending"), session="s2"))
    assert "new" not in told
    assert "plan [s1]" in told
    assert "plan [s2]" in told


def test_a_chunk_does_not_go_on_from_a_whole_text() -> None:
    told = text_of(chunk("a"), {"text": "b"}, chunk("c"), {"restart": True}, chunk("d"))
    assert re.findall(r"^ +([abcd])$", told, re.MULTILINE) == ["a", "b", "c", "d"]


def test_sessions_of_unordered_frames_are_named_too() -> None:
    plans = [plan(("a", "pending"), session=session) for session in ["s1", "s2"]]
    assert "plan [s2]" in text_of({"unordered": plans})


def test_one_session_needs_no_name() -> None:
    assert "[s1]" not in text_of(plan(("a", "pending"), session="s1"))


def test_an_answer_that_comes_later_stands_where_it_comes() -> None:
    assert text_of(permission(), chunk("meanwhile"), {"answer": SELECTED, "to": ASK}) == snapshot("""\
2  agent asks  session/request_permission  Run ls
     ? yes  (Allow, allow_once)

3  agent
     meanwhile

4  client answers  session/request_permission  Run ls
4    > yes (Allow)
""")


def test_an_answer_goes_to_the_question_of_its_session() -> None:
    told = text_of(
        permission(sessionId="s1"),
        permission(sessionId="s2"),
        {"answer": SELECTED, "to": {**ASK, "params": {"sessionId": "s2"}}},
    )
    first, second = told.rstrip().split("\n\n")
    assert "> yes" not in first
    assert "> yes (Allow)" in second


def test_answers_go_to_questions_in_their_order() -> None:
    told = text_of(
        permission(toolCall={"title": "Run first"}),
        permission(toolCall={"title": "Run second"}),
        {"refuse": {"code": 1, "message": "no"}, "to": ASK},
        {"answer": SELECTED, "to": {}},
        client={"session/request_permission": "allow"},
    )
    assert "session/request_permission  Run first\n4    > error 1 no\n" in told
    assert "session/request_permission  Run second\n5    > yes (Allow)\n" in told
    assert "by itself" not in told


def test_a_question_that_is_expected_exactly_gets_its_answer() -> None:
    told = text_of({**permission(), "exact": True}, {"answer": SELECTED, "to": ASK})
    assert told.count("Run ls") == told.count("> yes (Allow)") == told.count("exactly this") == 1


@pytest.mark.parametrize(
    ("said", "shown_as"),
    [("allow", "allow, by itself"), ({"outcome": {"outcome": "cancelled"}}, "cancelled, by itself")],
)
def test_what_the_client_answers_by_itself_is_told(said: Any, shown_as: str) -> None:
    client = {"session/request_permission": said}
    assert f"> {shown_as}\n" in text_of(permission(), client=client)
    assert f"> {shown_as}\n" in text_of({"unordered": [permission()]}, client=client)
    assert shown_as not in text_of(permission(), {"answer": SELECTED, "to": ASK}, client=client)


def test_long_text_is_cut_in_the_middle_and_counted() -> None:
    told = text_of(
        {"text": "\n".join(map(str, range(1000)))}, {"note": "x" * 5000}, {"line": f"{'y' * 600}{'z' * 600}"}
    )
    assert "[… 940 lines …]" in told
    assert "\n     0\n" in told
    assert "\n     999\n" in told
    assert "500\n" not in told
    assert "[… 4,001 characters …]" in " ".join(told.split())
    assert "[… 201 characters …]" in " ".join(told.split())


def test_a_megabyte_is_shown_short() -> None:
    megabyte = "word " * 200_000
    told = text_of({"text": megabyte}, {"expect": {"a": megabyte}}, plan((megabyte, megabyte)))
    assert len(told) < 5000


def test_text_is_wrapped_at_the_width_and_stays_whole() -> None:
    said = " ".join(f"word{number}" for number in range(60))
    told = text_of({"text": said}, width=50)
    assert max(map(len, told.split("\n"))) <= 50
    assert " ".join(told.split()) == f"2 agent {said}"


def test_code_keeps_its_lines() -> None:
    line = " ".join(["column"] * 30)
    assert f"     {line}\n" in text_of({"file": {"path": "a", "text": f"{line}\n{line}\n"}}, width=40)


def test_files_that_the_client_is_asked_for_keep_their_lines() -> None:
    line = " ".join(["column"] * 30)
    told = text_of(
        {"answer": {"content": line}, "to": {"method": "fs/read_text_file", "params": {"path": "a"}}},
        {
            "answer": {},
            "to": {"method": "fs/write_text_file", "params": {"path": "b", "content": f"{line}\n\n"}},
        },
    )
    assert "fs/read_text_file  a" in told
    assert f"     {line}\n\n" in told


def test_a_change_without_an_old_text_is_all_new() -> None:
    diff = {"type": "diff", "path": "a", "newText": "$${x}\n"}
    assert text_of(update(sessionUpdate="tool_call", title="t", content=[diff])) == snapshot("""\
2  tool  t
     new text of a
     @@ -0,0 +1 @@
     +${x}
""")


@pytest.mark.parametrize("width", [-5, 0, 1, 1000])
def test_any_width_will_do(width: int) -> None:
    assert "Resource" in shown(transcript(*EVERYTHING), colour=True, width=width)


def test_colours_change_nothing_but_colour() -> None:
    whole = transcript(*EVERYTHING)
    coloured = shown(whole, colour=True, width=80)
    assert "\x1b[32m+mode=RELEASE\x1b[0m" in coloured
    assert "\x1b[31m-mode=DEBUG\x1b[0m" in coloured
    plain = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    bare = [line.rstrip() for line in plain.split("\n")]
    assert bare == shown(whole, colour=False, width=80).split("\n")


# foreign text

EVIL = (
    "\x1b]0;owned\x07\x1b[2J\x9b31m\u202eabc\u2066\udc80\x00\r\x7f<script>alert('1')</script>\"><img src=x>&"
)


def evil(value: Any) -> Any:
    """The value with evil in all its strings and keys that are not of the format."""
    if isinstance(value, str):
        return value + EVIL
    if isinstance(value, list):
        return [evil(each) for each in value]
    if isinstance(value, dict):
        return {key: evil(each) for key, each in value.items()}
    return value


EVIL_STEPS = [
    {"send": {"method": EVIL, "params": {EVIL: EVIL}}, "as": f"init{EVIL}"},
    {"expect": {"error": {"code": 1, "message": EVIL}}, "to": f"init{EVIL}"},
    {"send": {"method": "session/prompt", "params": evil({"prompt": [{"type": "t"}, "a"]})}, "as": "p"},
    chunk(EVIL),
    plan((EVIL, "pending"), (EVIL, EVIL)),
    plan(("a", EVIL), session=EVIL),
    update(
        EVIL,
        sessionUpdate="tool_call",
        toolCallId=EVIL,
        title=f"a\n99  agent\n{EVIL}",
        kind=EVIL,
        status=EVIL,
        locations=[{"path": EVIL, "line": EVIL}],
        content=[
            {"type": "diff", "path": EVIL, "oldText": EVIL, "newText": f"{EVIL}\n"},
            {"type": "terminal", "terminalId": EVIL},
            {"type": "content", "content": {"type": "image", "mimeType": EVIL, "data": EVIL, "uri": EVIL}},
            {"type": "content", "content": {"type": "resource", "resource": {"uri": EVIL, "text": EVIL}}},
        ],
        rawInput=EVIL,
    ),
    update(sessionUpdate=EVIL, a=EVIL),
    permission(options=[{"optionId": EVIL, "name": EVIL, "kind": EVIL}]),
    {"answer": {"outcome": {"outcome": "selected", "optionId": EVIL}}, "to": ASK},
    {"refuse": {"code": 1, "message": EVIL}, "to": {"method": EVIL}},
    {"answer": {"output": EVIL, "exitStatus": {"signal": EVIL}}, "to": {"method": "terminal/output"}},
    {"forbid": {"method": EVIL}},
    {"log": {"type": EVIL, "data": EVIL}, "session": EVIL},
    {"file": {"path": EVIL, "text": EVIL}},
    {"line": EVIL},
    {"note": EVIL},
    {"text": EVIL, "of": EVIL, "session": EVIL},
]
EVIL_TRANSCRIPT = transcript(
    *EVIL_STEPS, name=EVIL, about=EVIL, files={EVIL: EVIL}, env={EVIL: EVIL}, spec="javascript:alert(1)"
)

#: what no shown text may have: controls, bidirectional and invisible characters, halves of pairs
UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]"
)
OUR_COLOURS = re.compile(r"\x1b\[(?:0|2|1|1;3[3-6]|3[1236])m")


def assert_harmless(told: str) -> None:
    assert UNSEEN.search(told) is None
    told.encode()


def test_no_foreign_escape_reaches_the_terminal() -> None:
    assert_harmless(OUR_COLOURS.sub("", shown(EVIL_TRANSCRIPT, colour=True, width=80)))
    assert_harmless(shown(EVIL_TRANSCRIPT, colour=False, width=80))


def test_a_heading_cannot_fake_a_scene() -> None:
    assert not re.search(r"^ *99 ", shown(EVIL_TRANSCRIPT, colour=False, width=1000), re.MULTILINE)


class Parsed(HTMLParser):
    """The tags, attributes and text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: dict[str, set[str]] = {}
        self.texts: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            self.attributes.setdefault(name, set()).add(value or "")
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


OUR_TAGS = set(
    each_of(
        "html head meta title style body header main section h1 h2 div span b p pre ul li a details summary"
    )
)
OUR_CLASSES = set(
    each_of(
        "label detail line aside what remark mark row added removed hunk wrapped plain quiet person "
        "agent plan tool question good bad changed"
    )
)


def assert_tame(text: str) -> Parsed:
    """Nothing of the transcript has become more than text."""
    assert_harmless(text)
    parsed = Parsed(text)
    assert parsed.open == []
    assert set(parsed.tags) <= OUR_TAGS
    assert parsed.tags.count("style") == parsed.tags.count("title") == 1
    allowed = {"charset", "http-equiv", "content", "name", "class", "href", "id", "lang"}
    assert set(parsed.attributes) <= allowed
    assert {name for value in parsed.attributes["class"] for name in value.split()} <= OUR_CLASSES
    assert all(re.fullmatch(r"#L\d+", value) for value in parsed.attributes["href"])
    assert len(parsed.attributes["content"]) == 3
    return parsed


def test_the_page_holds_what_the_terminal_shows() -> None:
    parsed = assert_tame(page(transcript(*EVERYTHING, about="What it is")))
    said = "".join(parsed.texts)
    for words in ["Set the mode.\nTo release.", "Let me see.", "[~] Write", "was in_progress", "disk full"]:
        assert words in said
    for words in ["+mode=RELEASE", "-mode=DEBUG", "yes (Allow)", "stopped: end_turn", "-32002", "\\udc80␇"]:
        assert words in said


def test_the_page_lets_no_foreign_text_out() -> None:
    parsed = assert_tame(page(EVIL_TRANSCRIPT))
    assert harmless("<script>alert('1')</script>\"><img src=x>&") in "".join(parsed.texts)


def test_the_page_forbids_scripts_and_the_network() -> None:
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page(EVIL_TRANSCRIPT))
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_policy_lets_the_style_of_the_page_in() -> None:
    import base64
    import hashlib

    text = page(transcript())
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert base64.b64encode(hashlib.sha256(style.encode()).digest()).decode() in text
    assert "prefers-color-scheme: dark" in style
    assert "url(" not in style


def test_a_long_text_is_folded_on_the_page() -> None:
    parsed = assert_tame(page(transcript({"file": {"path": "a", "text": "\n".join(map(str, range(100)))}})))
    assert "details" in parsed.tags
    assert "76 lines more" in parsed.texts
    assert "99" in "".join(parsed.texts)


def test_a_long_change_is_folded_on_the_page() -> None:
    diff = {"type": "diff", "path": "a", "newText": "\n".join(map(str, range(100)))}
    parsed = assert_tame(page(transcript(update(sessionUpdate="tool_call", content=[diff]))))
    assert "78 lines more" in parsed.texts
    assert "+99" in parsed.texts


def test_attributes_are_escaped() -> None:
    assert element("a", '"<', href='"><b>').text == '<a href="&quot;&gt;&lt;b&gt;">&quot;&lt;</a>'


# odd shapes


@pytest.mark.parametrize("entries", ["\udc80", ["\udc80"], [{"content": "a", "status": ["\udc80"]}]])
def test_half_a_surrogate_pair_in_the_wrong_place_is_shown(entries: Any) -> None:
    assert "\\udc80" in text_of(update(sessionUpdate="plan", entries=entries))
    assert "\\udc80" in text_of(REQUEST, {"expect": {"error": "\udc80"}, "to": "r"})


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.just(EVIL)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
#: the keys and words that the code looks for, so that odd values come to where it looks
KEYS = st.sampled_from(
    each_of(
        "method params update sessionUpdate sessionId content entries status priority type text path "
        "oldText newText toolCall toolCallId title kind locations line rawInput rawOutput options "
        "optionId name outcome result error code message data id stopReason output exitStatus exitCode "
        "signal truncated terminalId command args uri mimeType resource updatedAt currentModeId prompt"
    )
)
WORDS = st.sampled_from(
    each_of(
        "session/update session/request_permission fs/read_text_file fs/write_text_file terminal/create "
        "terminal/output terminal/kill plan tool_call tool_call_update agent_message_chunk "
        "user_message_chunk session_info_update current_mode_update usage_update text diff content "
        "terminal image resource resource_link completed pending selected cancelled"
    )
)
ODD = st.recursive(
    SCALARS | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)
ENTRY = st.fixed_dictionaries({}, optional={"content": SCALARS, "status": WORDS | SCALARS, "priority": ODD})
BLOCK = st.fixed_dictionaries(
    {"type": WORDS},
    optional=dict.fromkeys(["text", "path", "oldText", "newText", "uri", "mimeType", "terminalId"], SCALARS)
    | {"content": ODD, "resource": ODD},
)
UPDATE = st.fixed_dictionaries(
    {"sessionUpdate": WORDS | SCALARS},
    optional={
        "content": BLOCK | st.lists(BLOCK | ODD, max_size=3),
        "entries": st.lists(ENTRY | ODD, max_size=3),
        "toolCallId": SCALARS,
        "title": SCALARS,
        "status": WORDS | SCALARS,
        "kind": WORDS | SCALARS,
        "locations": ODD,
        "rawInput": ODD,
        "rawOutput": ODD,
    },
)
PARAMS = st.fixed_dictionaries(
    {},
    optional={
        "update": UPDATE | ODD,
        "sessionId": SCALARS,
        "toolCall": UPDATE | ODD,
        "options": st.lists(st.fixed_dictionaries({"optionId": SCALARS}, optional={"name": SCALARS}) | ODD),
        "path": SCALARS,
        "command": SCALARS,
        "args": ODD,
        "terminalId": SCALARS,
    },
)
FRAME = st.fixed_dictionaries(
    {},
    optional={"method": WORDS | SCALARS, "params": PARAMS | ODD, "id": SCALARS, "result": ODD, "error": ODD},
)
EXPECT = st.fixed_dictionaries({"expect": FRAME}, optional={"exact": st.booleans(), "to": st.just("r")})
STEP = st.one_of(
    EXPECT,
    st.fixed_dictionaries({"unordered": st.lists(EXPECT, max_size=3)}),
    st.fixed_dictionaries({"answer": ODD, "to": FRAME}),
    st.fixed_dictionaries(
        {
            "refuse": st.fixed_dictionaries(
                {"code": st.integers(), "message": st.text()}, optional={"data": ODD}
            ),
            "to": FRAME,
        }
    ),
    st.fixed_dictionaries({"forbid": FRAME}),
    st.fixed_dictionaries({"log": st.dictionaries(st.just("type") | st.text(), ODD, max_size=2)}),
    st.fixed_dictionaries({"text": st.text()}, optional={"of": WORDS | st.text()}),
    st.fixed_dictionaries({"file": st.fixed_dictionaries({"path": st.text(), "text": st.text()})}),
    st.fixed_dictionaries(
        {"send": st.fixed_dictionaries({"method": st.just("session/prompt"), "params": ODD}), "as": st.text()}
    ),
    st.fixed_dictionaries({"line": st.text()}),
    st.fixed_dictionaries({"note": st.text()}),
)
#: any step, and any JSON where JSON may stand
TRANSCRIPTS = st.tuples(st.lists(STEP, max_size=8), st.dictionaries(WORDS, ODD, max_size=3))
REQUEST = {"send": {"method": "x"}, "as": "r"}


def written(steps: list[dict[str, Any]], client: dict[str, Any]) -> Transcript | None:
    """The transcript, `${session}` captured; None where the format refuses it."""
    capture = {"expect": {"x": "${session:=…}"}}
    try:
        return transcript(REQUEST, capture, *steps, client=client)
    except TranscriptError:
        return None


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TRANSCRIPTS)
def test_show_never_fails_on_what_the_format_takes(given: Any) -> None:
    whole = written(*given)
    if whole is not None:
        assert_harmless(OUR_COLOURS.sub("", shown(whole, colour=True, width=60)))
        assert_tame(page(whole))


@settings(max_examples=100, deadline=None)
@given(JSON)
def test_any_json_in_a_frame_is_shown(value: Any) -> None:
    steps = [
        {"expect": {"params": value}},
        {"forbid": {"a": value}},
        {"answer": value, "to": {"method": "m"}},
    ]
    whole = written(steps, {})
    assume(whole is not None)
    assert whole is not None
    assert_harmless(shown(whole, colour=False, width=60))
    assert_tame(page(whole))


def updating(kind: str, member: str) -> str:
    update = f'{{"sessionUpdate": "{kind}", {member}}}'
    return f'{{"method": "session/update", "params": {{"update": {update}}}}}'


@pytest.mark.parametrize(
    "frame",
    [
        '{"a": DEEP}',
        '{"method": "session/request_permission", "params": {"toolCall": {"content": [DEEP]}}}',
        *(
            updating(kind, member)
            for kind in ["plan", "tool_call", "agent_message_chunk"]
            for member in ['"entries": DEEP', '"content": [DEEP]', '"content": DEEP', '"rawInput": DEEP']
        ),
    ],
)
@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('{"type":"content","content":', "}")]
)
def test_the_deepest_json_that_is_taken_is_shown(frame: str, opening: str, closing: str) -> None:
    for depth in range(1000, 100, -1):
        deep = frame.replace("DEEP", opening * depth + "1" + closing * depth)
        text = f'{{"meta": {{"name": "x"}}}}\n{{"expect": {deep}}}\n{{"forbid": {deep}}}\n'
        try:
            whole = parse(text, WHERE)
        except TranscriptError:
            continue
        assert shown(whole, colour=False, width=60)
        assert page(whole)
        return
    raise AssertionError("none was taken")


# the pieces


@pytest.mark.parametrize(
    ("old", "new", "rows"),
    [
        (None, "a\nb\n", ["@@ -0,0 +1,2 @@", "+a", "+b"]),
        ("a\n", "a\n", []),
        ("", "", []),
        ("a", "a\n", ["@@ -1 +1 @@", "-a", "\\ no newline at the end", "+a"]),
        ("a\n", "", ["@@ -1 +0,0 @@", "-a"]),
        ("a\u2028b\r\n", "a\u2028b\n", ["@@ -1 +1 @@", "-a\u2028b\r", "+a\u2028b"]),
    ],
)
def test_hunks(old: str | None, new: str, rows: list[str]) -> None:
    assert [row for hunk in hunks(old, new) for row in (hunk.header, *hunk.rows)] == rows


@settings(max_examples=300)
@given(st.lists(st.sampled_from("abc")), st.lists(st.sampled_from("abc")))
def test_hunks_are_those_of_difflib(old: list[str], new: list[str]) -> None:
    import difflib

    before, after = [f"{line}\n" for line in old], [f"{line}\n" for line in new]
    found = [row for hunk in hunks("".join(before), "".join(after)) for row in (hunk.header, *hunk.rows)]
    kept = [row[1:] for row in found if row[0] in " +"]
    # Which of several shortest ways is taken may differ; what it leads to may not.
    expected = [row.rstrip("\n") for row in list(difflib.unified_diff(before, after))[2:]]
    assert bool(found) == bool(expected)
    assert all(line in new for line in kept)
    patched, place = [], 0
    for hunk in hunks("".join(before), "".join(after)):
        start, length = re.findall(r"-(\d+)(?:,(\d+))?", hunk.header)[0]
        first = int(start) - (length != "0")
        patched += old[place:first]
        removed = [row[1:] for row in hunk.rows if row[0] in " -"]
        assert old[first : first + len(removed)] == removed
        patched += [row[1:] for row in hunk.rows if row[0] in " +"]
        place = first + len(removed)
    assert patched + old[place:] == new


def test_changes_of_a_long_file_are_hunks_of_their_own() -> None:
    old = [f"{number}\n" if number % 2 else "\n" for number in range(2000)]
    new = ["first\n", *old[1:-1], "last\n"]
    assert [hunk.header for hunk in hunks("".join(old), "".join(new))] == [
        "@@ -1,4 +1,4 @@",
        "@@ -1997,4 +1997,4 @@",
    ]


@pytest.mark.parametrize(("length", "different"), [(10_000, 10_000), (3000, 100)])
def test_texts_that_cannot_be_compared_in_time_are_one_hunk(length: int, different: int) -> None:
    old = [f"{number % different}\n" for number in range(length)]
    new = ["first\n", *old[1:-1], "last\n"]
    (hunk,) = hunks("".join(old), "".join(new))
    assert hunk.header == f"@@ -1,{length} +1,{length} @@"


def test_shortened_keeps_both_ends() -> None:
    assert shortened("a" * 300, 300) == "a" * 300
    assert shortened("abcdefghij", 6) == "abcd [… 4 characters …] ij"
    assert lines_of("1\n2\n3\n4\n5\n", 3, 10) == ["1", "2", "[… 2 lines …]", "5"]


@given(st.text())
def test_harmless_text_stays_what_it_is(text: str) -> None:
    assert UNSEEN.search(harmless(text)) is None
    assert harmless(harmless(text)) == harmless(text)


def test_harmless_names_what_it_replaces() -> None:
    assert harmless("\x1b\x07\r\x7f\x9b\u202e\udc80\U000e0041 ä\t漢👩‍👩‍👧\n") == (
        "␛␇␍␡\\u009b\\u202e\\udc80\\U000e0041 ä\t漢👩‍👩‍👧\n"
    )
