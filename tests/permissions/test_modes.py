"""What each mode does with each access."""

from pathlib import Path

import pytest

from wayline.permissions.modes import NOTHING, Access, Decision, Mode, decide

WORKSPACE = Path("/home/me/project")
INSIDE = (WORKSPACE / "a.py",)
OUTSIDE = (Path("/etc/passwd"),)


@pytest.mark.parametrize(
    ("mode", "read", "write", "run", "read_out", "write_out"),
    [
        ("ask", "allow", "ask", "ask", "ask", "ask"),
        ("accept-edits", "allow", "allow", "ask", "ask", "ask"),
        ("plan", "allow", "deny", "deny", "ask", "deny"),
        ("full", "allow", "allow", "allow", "allow", "allow"),
    ],
)
def test_the_table(
    mode: Mode, read: Decision, write: Decision, run: Decision, read_out: Decision, write_out: Decision
):
    def decided(access: Access) -> Decision:
        return decide(mode, access, WORKSPACE, frozenset())

    assert decided(Access("read", INSIDE, "read")) == read
    assert decided(Access("write", INSIDE, "write")) == write
    assert decided(Access("run", INSIDE, "run")) == run
    assert decided(Access("read", OUTSIDE, "read")) == read_out
    assert decided(Access("write", OUTSIDE, "write")) == write_out
    assert decided(NOTHING) == "allow"
    assert decided(Access("read", OUTSIDE, "read", trusted=True)) == "allow"


def test_a_folder_whose_name_only_begins_like_the_workspace_is_outside():
    access = Access("write", (Path("/home/me/project-evil/a"),), "write")
    assert decide("accept-edits", access, WORKSPACE, frozenset()) == "ask"


def test_a_grant_covers_what_was_shown_and_nothing_else():
    grants = frozenset({"bash: make"})
    assert decide("ask", Access("run", INSIDE, "bash: make"), WORKSPACE, grants) == "allow"
    assert decide("ask", Access("run", INSIDE, "bash: make clean"), WORKSPACE, grants) == "ask"
    assert decide("plan", Access("run", INSIDE, "bash: make"), WORKSPACE, grants) == "deny"


def test_an_access_without_a_grant_is_never_granted():
    assert decide("ask", Access("run", INSIDE), WORKSPACE, frozenset({""})) == "ask"


@pytest.mark.parametrize(
    "name", [".git/hooks/pre-commit", ".git/config", ".wayline/settings.toml", "sub/.git/x"]
)
def test_what_can_make_commands_run_is_asked_about_among_edits_too(name: str):
    access = Access("write", (WORKSPACE / name,), "write")
    assert decide("accept-edits", access, WORKSPACE, frozenset()) == "ask"
    assert (
        decide("accept-edits", Access("write", (WORKSPACE / ".gitignore",)), WORKSPACE, frozenset())
        == "allow"
    )
