"""Sessions of a data home: made, opened again, listed; among whatever else lies there."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.log.conversations import HEADER, Writer, bytes_of, conversations
from wayline import __version__
from wayline.log.codec import LogError, decode_header
from wayline.log.content import Text
from wayline.log.events import (
    USER,
    Notice,
    SessionTitle,
    StepStart,
    ToolCallStarted,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessage,
)
from wayline.log.reader import DamagedLog, read
from wayline.sessions.registry import Registry, UnknownSession, WrongWorkspace
from wayline.sessions.session import ReadOnlySession, Session

pytestmark = pytest.mark.anyio

Make = Callable[[], Registry]


def log_of(session: Session) -> Path:
    return session.folder / "log.jsonl"


def prompted(registry: Registry, cwd: Path, text: str = "hello") -> Session:
    """A closed session with one whole turn."""
    session = registry.new(cwd)
    session.append(TurnStart(1, Trigger("message", USER)))
    session.append(UserMessage((Text(text),), USER))
    session.append(TurnEnd(1, TurnEndReason("completed")))
    session.close()
    return session


async def ids(registry: Registry, cwd: Path | None = None) -> list[str]:
    return [listed.id for listed in await registry.list(cwd) if listed.damage is None]


async def test_a_new_session_is_on_disk_for_its_owner_alone_before_it_is_prompted(
    registry: Make, home: Path, workspace: Path
):
    session = registry().new(workspace)
    header = decode_header(log_of(session).read_bytes().splitlines()[0])
    assert header == session.header
    assert (header.cwd, header.id) == (str(workspace), session.id)
    assert header.producer == {"name": "wayline", "version": __version__}
    assert log_of(session).stat().st_mode & 0o777 == 0o600
    for folder in (home, home / "sessions", session.folder.parent, session.folder):
        assert folder.stat().st_mode & 0o777 == 0o700
    session.close()
    again = await registry().open(session.id, workspace)
    again.close()
    assert again.header == session.header


async def test_a_session_goes_on_where_it_was(registry: Make, workspace: Path):
    before = prompted(registry(), workspace)
    bytes_before = log_of(before).read_bytes()
    session = await registry().open(before.id, workspace)
    assert log_of(before).read_bytes() == bytes_before
    assert (session.state, session.next_seq, session.cwd) == (before.state, before.next_seq, workspace)
    session.append(TurnStart(2, Trigger("message", USER)))
    session.close()
    assert read(log_of(before).read_bytes()).fault is None


async def test_a_session_that_was_opened_knows_the_calls_it_has_had(registry: Make, workspace: Path):
    session = registry().new(workspace)
    session.append(TurnStart(1, Trigger("message", USER)))
    session.append(StepStart(1, 1))
    session.append(ToolCallStarted(1, 1, "c1", "bash", "{}"))
    session.close()
    again = await registry().open(session.id, workspace)
    again.close()
    assert again.call_ids == {"c1"}


@pytest.mark.parametrize("session_id", ["none", "", "..", "../x", "/etc", "a\0b", "x" * 5000, "*", "a/b"])
async def test_an_id_that_names_no_session_is_unknown(registry: Make, workspace: Path, session_id: str):
    prompted(registry(), workspace)
    with pytest.raises(UnknownSession):
        await registry().open(session_id, workspace)


async def test_a_session_belongs_to_its_workspace(registry: Make, workspace: Path, tmp_path: Path):
    session = prompted(registry(), workspace)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for other in (elsewhere, workspace.parent, tmp_path / "none"):
        with pytest.raises(WrongWorkspace, match="was started in"):
            await registry().open(session.id, other)
        assert await ids(registry(), other) == []
    assert await ids(registry(), workspace) == [session.id]


async def test_a_workspace_is_the_same_however_it_is_reached(registry: Make, workspace: Path, tmp_path: Path):
    session = prompted(registry(), workspace)
    link = tmp_path / "link"
    link.symlink_to(workspace)
    for same in (link, Path(f"{workspace}/"), workspace / ".." / "workspace"):
        (await registry().open(session.id, same)).close()
        assert await ids(registry(), same) == [session.id]


@pytest.mark.parametrize("cwd", [None, ".", "", "relative", "/" + "x" * 5000, "/a\0b"])
async def test_a_session_whose_workspace_cannot_be_found_is_in_nobodys_way(
    registry: Make, home: Path, workspace: Path, cwd: str | None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(workspace)
    good = prompted(registry(), workspace)
    lost = prompted(registry(), workspace)
    header = decode_header(log_of(lost).read_bytes().splitlines()[0])
    lost_header = type(header)(version=0, id=header.id, created_at=header.created_at, cwd=cwd)
    events = read(log_of(lost).read_bytes()).events
    log_of(lost).write_bytes(bytes_of(events, lost_header))
    assert await ids(registry(), workspace) == [good.id]
    assert sorted(await ids(registry())) == sorted([good.id, lost.id])
    with pytest.raises(WrongWorkspace):
        await registry().open(lost.id, workspace)


async def test_a_session_whose_workspace_is_gone_is_still_listed(registry: Make, workspace: Path):
    session = prompted(registry(), workspace)
    workspace.rmdir()
    assert await ids(registry()) == [session.id]
    assert await ids(registry(), workspace) == [session.id]


async def test_a_list_is_newest_first_and_says_what_each_is_about(registry: Make, workspace: Path):
    old, new = prompted(registry(), workspace, "old"), prompted(registry(), workspace, "new")
    older = await registry().open(old.id, workspace)
    older.append(SessionTitle("chosen", USER))
    older.close()
    listed = await registry().list(None)
    assert [(each.id, each.title, each.cwd) for each in listed] == [
        (old.id, "chosen", str(workspace)),
        (new.id, "new", str(workspace)),
    ]
    assert [each.updated_at for each in listed] == [
        older.state.meta.updated_at,
        new.state.meta.updated_at,
    ]


async def test_a_session_that_was_never_prompted_is_not_listed(registry: Make, workspace: Path):
    session = registry().new(workspace)
    session.append(Notice("started"))
    session.close()
    assert await registry().list(None) == []


async def test_there_is_nothing_to_list_in_a_new_home(registry: Make, workspace: Path):
    assert await registry().list(workspace) == []


def binary(log: Path) -> None:
    log.write_bytes(bytes(range(256)) * 10)


def broken_header(log: Path) -> None:
    log.write_bytes(b"{}\n" + log.read_bytes())


def broken_middle(log: Path) -> None:
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(b"".join([*lines[:2], b"{}\n", *lines[2:]]))


def deep(log: Path) -> None:
    log.write_bytes(log.read_bytes() + b'{"a":' * 100_000 + b"\n" + log.read_bytes().splitlines()[1] + b"\n")


def broken_link(log: Path) -> None:
    log.unlink()
    log.symlink_to(log.parent / "none")


def link_to_itself(log: Path) -> None:
    log.unlink()
    log.symlink_to(log)


def folder(log: Path) -> None:
    log.unlink()
    log.mkdir()


def pipe(log: Path) -> None:
    log.unlink()
    os.mkfifo(log)


def endless(log: Path) -> None:
    log.unlink()
    log.symlink_to("/dev/zero")


def empty(log: Path) -> None:
    log.write_bytes(b"")


def of_another_session(log: Path) -> None:
    log.write_bytes(bytes_of(read(log.read_bytes()).events, HEADER))


def forbidden(log: Path) -> None:
    log.chmod(0)


AS_A_PERSON = pytest.param(
    forbidden, marks=pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
)
BREAKS: list[Any] = [
    *[binary, broken_header, broken_middle, deep, broken_link, link_to_itself, folder, pipe, endless, empty],
    *[of_another_session, AS_A_PERSON],
]


@pytest.mark.parametrize("break_it", BREAKS)
async def test_one_bad_log_is_named_and_breaks_no_other(
    registry: Make, workspace: Path, break_it: Callable[[Path], None]
):
    good, bad = prompted(registry(), workspace), prompted(registry(), workspace)
    break_it(log_of(bad))
    listed = {each.id: each.damage for each in await registry().list(None)}
    assert listed.pop(good.id) is None
    assert set(listed) <= {bad.id}
    assert all(listed.values())
    assert await ids(registry(), workspace) == [good.id]
    (await registry().open(good.id, workspace)).close()
    with pytest.raises((UnknownSession, LogError, OSError)):
        await registry().open(bad.id, workspace)


async def test_a_session_that_cannot_be_opened_leaves_no_file_open(
    registry: Make, workspace: Path, tmp_path: Path
):
    session = prompted(registry(), workspace)
    with pytest.raises(WrongWorkspace):
        await registry().open(session.id, tmp_path)
    first_free = os.open(os.devnull, os.O_RDONLY)
    os.close(first_free)
    with pytest.raises(WrongWorkspace):
        await registry().open(session.id, tmp_path)
    broken_middle(log_of(session))
    with pytest.raises(DamagedLog):
        await registry().open(session.id, workspace)
    still_free = os.open(os.devnull, os.O_RDONLY)
    os.close(still_free)
    assert still_free == first_free


async def test_other_files_in_the_tree_are_passed_over(registry: Make, home: Path, workspace: Path):
    session = prompted(registry(), workspace)
    (home / "sessions" / "file").write_text("x")
    (session.folder.parent / "file").write_text("x")
    (session.folder / "blobs").mkdir()
    (home / "sessions" / "empty").mkdir()
    (home / "sessions" / "a" / "b" / "c").mkdir(parents=True)
    (home / "sessions" / "loop").symlink_to(home / "sessions")
    assert [(each.id, each.damage) for each in await registry().list(None)] == [(session.id, None)]


async def test_a_damaged_log_is_left_as_it_is(registry: Make, workspace: Path):
    session = prompted(registry(), workspace)
    broken_middle(log_of(session))
    damaged = log_of(session).read_bytes() + b"torn"
    log_of(session).write_bytes(damaged)
    with pytest.raises(DamagedLog, match=r"^line 3: "):
        await registry().open(session.id, workspace)
    assert log_of(session).read_bytes() == damaged


async def test_a_log_that_is_not_understood_is_opened_to_be_read_and_left_as_it_is(
    registry: Make, workspace: Path
):
    session = prompted(registry(), workspace)
    strange = (
        log_of(session).read_bytes()
        + b'{"type":"session/painted","seq":3,"time":1,"data":{}}\n'
        + b'{"type":"turn/start","seq":4,"time":1,"data":{"turn":2,"trigger":{"kind":"message"}}}\ntorn'
    )
    log_of(session).write_bytes(strange)
    (listed,) = await registry().list(workspace)
    assert (listed.id, listed.title) == (session.id, "hello")
    assert "session/painted" in (listed.damage or "")
    opened = await registry().open(session.id, workspace)
    assert opened.state.meta.title == "hello"
    with pytest.raises(ReadOnlySession, match=r"session/painted.*written by wayline"):
        opened.append(Notice("x"))
    opened.close()
    assert log_of(session).read_bytes() == strange


async def test_a_torn_tail_is_dropped(registry: Make, workspace: Path):
    session = prompted(registry(), workspace)
    whole = log_of(session).read_bytes()
    log_of(session).write_bytes(whole + b'{"type":"turn/sta')
    opened = await registry().open(session.id, workspace)
    assert log_of(session).read_bytes() == whole
    opened.append(Notice("next"))
    opened.close()
    assert read(log_of(session).read_bytes()).fault is None


@pytest.mark.parametrize("cut", [0, 5])
async def test_a_session_that_is_asked_for_from_elsewhere_is_not_touched(
    registry: Make, workspace: Path, tmp_path: Path, cut: int
):
    session = prompted(registry(), workspace)
    torn = log_of(session).read_bytes()[: -60 - cut]
    log_of(session).write_bytes(torn)
    with pytest.raises(WrongWorkspace):
        await registry().open(session.id, tmp_path)
    assert log_of(session).read_bytes() == torn


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(conversation=conversations(), data=st.data())
async def test_a_session_that_crashed_anywhere_is_repaired_once(
    registry: Make, workspace: Path, conversation: Writer, data: st.DataObject
):
    session = registry().new(workspace)
    session.close()
    whole = bytes_of(conversation.events, session.header)
    start = len(log_of(session).read_bytes())
    log_of(session).write_bytes(whole[: data.draw(st.integers(start, len(whole)))])

    opened = await registry().open(session.id, workspace)
    opened.close()
    repaired = log_of(session).read_bytes()
    reading = read(repaired)
    assert (reading.fault, reading.torn, reading.rules.turn) == (None, 0, 0)
    assert reading.next_seq == opened.next_seq

    again = await registry().open(session.id, workspace)
    again.close()
    assert log_of(session).read_bytes() == repaired
    assert again.state == opened.state


@pytest.mark.parametrize("value", ["1", "0", None])
async def test_rules_are_checked_on_append_when_that_is_asked_for(
    registry: Make, workspace: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
):
    monkeypatch.delenv("WAYLINE_INVARIANTS")
    if value is not None:
        monkeypatch.setenv("WAYLINE_INVARIANTS", value)
    session = registry().new(workspace)
    session.close()
    opened = await registry().open(session.id, workspace)
    if value == "1":
        with pytest.raises(LogError, match="outside any turn"):
            opened.append(UserMessage((Text("x"),), USER))
    else:
        opened.append(UserMessage((Text("x"),), USER))
    opened.close()
