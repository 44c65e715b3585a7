"""A transcript's file: what is read, and what is refused, with file, line and reason."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from wayline.transcripts.format import (
    Expect,
    Forbid,
    Meta,
    Note,
    Send,
    SendLine,
    Step,
    Text,
    TranscriptError,
    dump,
    parse,
    read,
)
from wayline.transcripts.playing import places

META = '{"meta": {"name": "t"}}'
INIT = '{"send": {"method": "initialize", "params": {}}, "as": "init"}'
FIXTURES = Path(__file__).parents[2] / "fixtures" / "transcripts"


def test_a_transcript_is_its_meta_and_its_steps_by_line():
    text = f'{META}\n\n{INIT}\n{{"expect": {{"result": {{}}}}, "to": "init"}}\n  \n{{"note": "done"}}\n'
    transcript = parse(text, Path("t.jsonl"))
    assert transcript.meta == Meta("t")
    assert [placed.line for placed in transcript.steps] == [3, 4, 6]
    kinds = [type(placed.step) for placed in transcript.steps]
    assert kinds == [Send, Expect, Note]


def test_line_ends_of_unicode_are_no_line_ends():
    transcript = parse(META + '\n{"note": "a\u2028b\x85c"}\r\n', Path("t.jsonl"))
    assert [placed.step for placed in transcript.steps] == [Note("a\u2028b\x85c")]


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_what_is_read_and_dumped_is_read_the_same(path: Path):
    transcript = read(path)
    steps = [placed.step for placed in transcript.steps]
    again = parse(dump(transcript.meta, steps), path)
    assert (again.meta, [placed.step for placed in again.steps]) == (transcript.meta, steps)
    assert transcript.meta.name == path.stem
    assert transcript.meta.about.endswith(".")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", 'empty; the first line is {"meta": {"name": …}}'),
        ("\n \n", 'empty; the first line is {"meta": {"name": …}}'),
    ],
)
def test_a_file_with_nothing_in_it_is_refused(text: str, reason: str):
    with pytest.raises(TranscriptError) as refused:
        parse(text, Path("t.jsonl"))
    assert str(refused.value) == f"t.jsonl: {reason}"


def meta(**members: Any) -> str:
    return json.dumps({"meta": {"name": "t", **members}})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (INIT, "the first line is"),
        ('{"meta": {"name": "t"}, "note": "x"}', "the first line is"),
        ("[]", "a line is a JSON object"),
        ("{meta}", "Expecting property name"),
        ('{"meta": {}}', "missing required field `name`"),
        ('{"meta": "t"}', "Expected `object`, got `str`"),
        (meta(colour="red"), "unknown field `colour`"),
        (meta(timeout="1"), "Expected `float`, got `str` - at `$.timeout`"),
        (meta(timeout=0), "Expected `float` > 0.0 - at `$.timeout`"),
        (meta(files={"a": 1}), "Expected `str`, got `int`"),
        (meta(script=[{"text": "x"}]), "Expected `array`, got `object` - at `$.script[0]`"),
        (meta(model="m.jsonl", script=[]), "meta has a model or a script, not both"),
        (meta(script=[[{"text": "${session}"}]]), "${session} is not known before the first step"),
        (meta(script=[[{"text": "${any}"}]]), "meta cannot hold a pattern: '${any}'"),
        (meta(files={"a": "${x:=…}"}), "meta cannot hold a pattern: '${x:=…}'"),
        (meta(files={"a": "${HOME}/bin"}), "a literal one is $${HOME}"),
        (meta(files={"a": "${a-b}"}), "${a-b} is no placeholder; a literal one is written $${a-b}"),
    ],
)
def test_a_meta_that_cannot_be_is_refused(line: str, reason: str):
    refused_at(1, line, reason)


def expect(value: Any) -> str:
    return json.dumps({"expect": {"result": value}})


def sent(value: Any) -> str:
    return json.dumps({"send": {"method": "m", "params": value}})


def answered(**members: Any) -> str:
    return json.dumps({"to": {"method": "m"}, **members})


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("no json", "Expecting value"),
        ('"note"', "a line is a JSON object"),
        ("{}", "a step has exactly one of send, line, expect, text,"),
        ('{"sent": {}}', "this one has ['sent']"),
        ('{"note": "x", "line": "y"}', "this one has ['note', 'line']"),
        (META, "this one has ['meta']"),
        ('{"note": "x", "colour": "red"}', "unknown field `colour`"),
        ('{"note": 1}', "Expected `str`, got `int` - at `$.note`"),
        ('{"send": {}, "as": "a"}', "missing required field `method`"),
        ('{"send": {"method": "m", "param": {}}}', "unknown field `param`"),
        ('{"send": {"method": "session/new"}}', 'session/new is a request: name it by "as"'),
        (INIT, "'init' is the name of an earlier request"),
        ('{"expect": []}', "Expected `object`, got `array`"),
        ('{"expect": {}, "to": "p1"}', "no earlier request is named 'p1'"),
        ('{"text": "x", "until": "p1"}', "no earlier request is named 'p1'"),
        ('{"forbid": {}, "until": "p1"}', "no earlier request is named 'p1'"),
        ('{"unordered": [{"expect": {}, "to": "p1"}]}', "no earlier request is named 'p1'"),
        ('{"unordered": [{"text": "x"}]}', "unknown field `text` - at `$.unordered[0]`"),
        ('{"unordered": [{"expect": {"a": "${x}"}}]}', "${x} is not set by an earlier step"),
        ('{"answer": {}}', "missing required field `to`"),
        (answered(answer={"a": "${any}"}), "what is sent cannot hold a pattern: '${any}'"),
        (answered(answer={"a": "${x}"}), "${x} is not set by an earlier step"),
        (answered(refuse={"code": 1}), "missing required field `message`"),
        (answered(refuse={"code": 1, "message": "${any}"}), "what is sent cannot hold a pattern"),
        ('{"log": {}, "times": "1"}', "Expected `int | null`, got `str`"),
        ('{"log": {}}', "${session} is not set by an earlier step"),
        ('{"log": {}, "session": "${any}"}', "what is sent cannot hold a pattern: '${any}'"),
        ('{"text": "x", "session": "${x:=…}"}', "what is sent cannot hold a pattern: '${x:=…}'"),
        ('{"file": {"path": "${any}", "text": "x"}}', "what is sent cannot hold a pattern: '${any}'"),
        ('{"log": {"type": "${x:=…}"}, "times": 0, "session": "s"}', "captures nothing: '${x:=…}'"),
        ('{"forbid": {"method": "${x:=…}"}}', "what must not come captures nothing: '${x:=…}'"),
        ('{"file": {"path": "a"}}', "a file has a text, or is absent"),
        ('{"file": {"path": "a", "text": "x", "absent": true}}', "a file has a text, or is absent"),
        ('{"restart": false}', "restart"),
        (expect("${x}"), "${x} is not set by an earlier step"),
        (expect(["${unknown.name}"]), "${unknown.name} is no placeholder"),
        (expect("${/[/}"), "the regex /[/ is wrong: unterminated character set"),
        (expect("${/(?P<a>x)/}"), "the regex /(?P<a>x)/ names a group"),
        (expect("${/(?s)x/}"), "the regex /(?s)x/ is wrong: global flags"),
        (expect("${x:=/(/}"), "the regex /(/ is wrong"),
        (expect("${x:=…} ${x:=…}"), "captures one variable twice"),
        (expect("${cwd:=…}"), "${cwd} is set from the start"),
        (sent("${any}"), "what is sent cannot hold a pattern: '${any}'"),
        (sent({"a": ["${/x/}"]}), "what is sent cannot hold a pattern: '${/x/}'"),
        (sent("${x:=…}"), "what is sent cannot hold a pattern: '${x:=…}'"),
        (sent("${session}"), "${session} is not set by an earlier step"),
        ('{"line": "\\ud800"}', "surrogates not allowed"),
        ("[" * 100_000, "recursion"),
    ],
)
def test_a_step_that_cannot_be_is_refused(line: str, reason: str):
    refused_at(3, f"{META}\n{INIT}\n{line}", reason)


def refused_at(number: int, text: str, reason: str) -> None:
    with pytest.raises(TranscriptError) as refused:
        parse(text + '\n{"note": "the end"}', Path("dir/t.jsonl"))
    message = str(refused.value)
    assert message.startswith(f"dir/t.jsonl, line {number}: "), message
    assert reason in message


def test_what_is_captured_may_be_used_from_the_next_step_on_and_a_question_in_its_answer():
    lines = [
        META,
        expect({"sessionId": "${session:=…}"}),
        sent({"sessionId": "${session}", "cwd": "${cwd}", "tmp": "${tmp}", "home": "${home}"}),
        '{"answer": {"terminalId": "${t}"}, "to": {"params": {"id": "${t:=…}", "any": "${any}"}}}',
        '{"refuse": {"code": 1, "message": "${u}"}, "to": {"params": {"id": "${u:=/a+/}"}}}',
        '{"unordered": [{"expect": {"a": "${v:=…}"}}, {"expect": {"b": "${v}"}}]}',
        '{"log": {"type": "${w:=…}"}}',
        '{"file": {"path": "${w}.txt", "text": "${v}${x:=…}"}}',
        sent(["${t}", "${u}", "${v}", "${w}", "${x}", "$${y}", "${repeat:3:ab}"]),
    ]
    assert len(parse("\n".join(lines), Path("t.jsonl")).steps) == len(lines) - 1


def test_lines_and_notes_are_no_templates():
    steps: list[Step] = [SendLine("${any} $${ ${x}"), Note("${any}"), SendLine("\udcff")]
    assert [placed.step for placed in parse(dump(Meta("t"), steps), Path("t")).steps] == steps


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path):
    for path in (tmp_path / "missing.jsonl", tmp_path):
        with pytest.raises(TranscriptError, match=r"Errno") as refused:
            read(path)
        assert str(path) in str(refused.value)
    (tmp_path / "latin.jsonl").write_bytes(b'{"meta": {"name": "\xe9"}}')
    with pytest.raises(TranscriptError, match=r"latin\.jsonl: 'utf-8' codec"):
        read(tmp_path / "latin.jsonl")


def test_defaults_are_not_written():
    text = dump(Meta("t"), [Forbid({"method": "x"}), Text("é\u2028")])
    assert text == META + '\n{"forbid": {"method": "x"}}\n{"text": "é\u2028"}\n'


@pytest.mark.parametrize("name", ["../out.txt", "/etc/out.txt", "a/../../out.txt"])
def test_files_stay_in_the_workspace(tmp_path: Path, name: str):
    transcript = parse(meta(files={name: "x"}), tmp_path / "t.jsonl")
    reason = re.escape(f"t.jsonl, line 1: the file {name} is not in the workspace")
    with pytest.raises(TranscriptError, match=reason), places.fresh(transcript):
        pass


def test_a_workspace_that_is_not_there_is_said(tmp_path: Path):
    transcript = parse(meta(workspace="nope"), tmp_path / "t.jsonl")
    reason = r"t\.jsonl, line 1: workspace .*nope is not a folder"
    with pytest.raises(TranscriptError, match=reason), places.fresh(transcript):
        pass


def test_the_place_is_furnished_as_meta_says(tmp_path: Path):
    (tmp_path / "repo").mkdir()
    (tmp_path / "repo" / "a.txt").write_text("a", encoding="utf-8")
    transcript = parse(
        meta(
            workspace="repo",
            files={"sub/b.txt": "${repeat:3:ab} ${cwd}"},
            script=[[{"text": "${tmp}$${x}"}]],
            settings={"limits": {"tries": 2}, "todo": {"models": {"a/b.c": False}}, "mode": "plan"},
            mode="full",
            env={"A": "1"},
            args=["--x"],
        ),
        tmp_path / "t.jsonl",
    )
    with places.fresh(transcript) as place:
        assert (place.workspace / "a.txt").read_text(encoding="utf-8") == "a"
        assert (place.workspace / "sub" / "b.txt").read_text(encoding="utf-8") == f"ababab {place.workspace}"
        settings = (place.home / "settings.toml").read_text(encoding="utf-8")
        assert settings == '"limits"."tries" = 2\n"todo"."models"."a/b.c" = false\n"mode" = "plan"\n'
        assert place.model is not None
        kind, _, script = place.model.partition(":")
        assert (kind, place.environ["WAYLINE_MODEL"]) == ("scripted", place.model)
        assert json.loads(Path(script).read_text(encoding="utf-8")) == [{"text": f"{place.root}${{x}}"}]
        assert (place.environ["A"], place.environ["WAYLINE_MODE"], place.arguments) == ("1", "full", ("--x",))
    assert not place.root.exists()
