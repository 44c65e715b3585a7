"""Globs and `.gitignore`: what they mean, whatever the pattern, in time that does not run away."""

import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayline.tools.globs import LONGEST, Glob
from wayline.tools.ignore_rules import IgnoreRules, rules_in
from wayline.tools.listing import Missed, walk


def naive(pattern: str, path: str) -> bool:
    """What a glob without braces and marks means, tried in every way there is."""
    if "/" not in pattern:
        return name_fits(pattern, path.rpartition("/")[2])
    return folders_fit(pattern.split("/"), path.split("/"))


def folders_fit(patterns: list[str], names: list[str]) -> bool:
    if not patterns:
        return not names
    first, *rest = patterns
    if first == "**":
        return bool(names) if not rest else any(folders_fit(rest, names[n:]) for n in range(len(names) + 1))
    return bool(names) and name_fits(first, names[0]) and folders_fit(rest, names[1:])


def name_fits(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(name_fits(pattern[1:], name[n:]) for n in range(len(name) + 1))
    for token, meant in (("[!a]", "bc."), ("[a-c]", "abc"), ("?", "abc.")):
        if pattern.startswith(token):
            return name[:1] != "" and name[0] in meant and name_fits(pattern[len(token) :], name[1:])
    return name[:1] == pattern[0] and name_fits(pattern[1:], name[1:])


PATTERNS = st.lists(st.sampled_from(["a", "b", ".", "*", "*", "?", "[!a]", "[a-c]", "/", "/**/"]), max_size=9)
NAMES = st.text("abc.", min_size=1, max_size=6).filter(lambda name: name not in (".", ".."))
PATHS = st.lists(NAMES, min_size=1, max_size=5).map("/".join)


@settings(max_examples=1000)
@given(PATTERNS.map("".join), PATHS)
def test_a_glob_means_what_trying_every_way_finds(pattern, path):
    glob = Glob(pattern)
    pattern = pattern.removeprefix("./")
    assert glob.fits(PurePosixPath(path)) == naive(pattern, path)


@given(PATTERNS.map("".join), PATTERNS.map("".join), PATTERNS.map("".join), PATHS)
def test_braces_stand_for_one_or_the_other(one, other, end, path):
    either = Glob(f"**/{{{one},{other}}}{end}").fits(PurePosixPath(path))
    assert either == any(Glob(f"**/{choice}{end}").fits(PurePosixPath(path)) for choice in (one, other))


@given(st.text("{,ab", min_size=1, max_size=8) | st.text("},ab", min_size=1, max_size=8))
def test_a_brace_without_a_partner_is_a_character(pattern):
    assert Glob(pattern).fits(PurePosixPath(pattern))


HOSTILE = [
    "*a" * 12 + "*b",
    "*a" * 2000 + "*b",
    "**/" * 1000 + "b",
    "**/a/" * 800 + "b",
    "**/*a*a*a*a*a*a*b/" * 200 + "b",
    "*/" * 2000 + "b",
    "*?" * 2000 + "b",
    "[!b]*" * 800 + "b",
    "[" * LONGEST,
    "{" * LONGEST,
    "{" * 2000 + "}" * 2000,
    "{a}" * 1300,
    "{*a*a*a*b,*a*a*a*a*b}" * 8,
    "{" + "*a*a*a*a*b," * 200 + "}",
]
LONG = ["a" * 255, "a/" * 2000 + "a", "/".join(["a" * 255] * 16)]


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", HOSTILE)
@pytest.mark.parametrize("mark", ["", "!"])
def test_no_pattern_is_tried_for_ever(pattern, mark):
    try:
        glob = Glob((mark + pattern)[:LONGEST])
    except ValueError:
        return
    for path in LONG:
        assert glob.fits(PurePosixPath(path)) is (mark == "!")


@pytest.mark.parametrize("pattern", ["a" * (LONGEST + 1), "{a,b}" * 9, "{" + "," * 200 + "}" + "a" * 300])
def test_a_pattern_that_is_too_large_is_refused(pattern):
    with pytest.raises(ValueError, match=r"characters|patterns"):
        Glob(pattern)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("pattern", HOSTILE)
def test_no_line_of_a_gitignore_is_tried_for_ever(tmp_path: Path, pattern):
    (tmp_path / ".gitignore").write_text(f"{pattern}\n/{pattern}\n!{pattern}/\n", encoding="utf-8")
    rules = rules_in(tmp_path)
    assert isinstance(rules, IgnoreRules)
    assert [rules.decision(tmp_path / path, True) for path in LONG] == [None] * len(LONG)


@pytest.mark.timeout(20)
def test_a_gitignore_without_end_is_none(tmp_path: Path):
    (tmp_path / "a").touch()
    (tmp_path / ".gitignore").symlink_to("/dev/zero")
    assert rules_in(tmp_path) is None
    assert {path.name for path in walk(tmp_path, Missed())} == {"a"}


TOKENS = ["a", "b", ".", "*", "**", "?", "[ab]", "[!a]", "[", "/", "/", "\\a", "\\*", "\\ ", " ", "#"]
#: stars beside something else than `/` are left out: git compares pointers of two arrays there (wildmatch.c)
LINES = (
    st.lists(st.sampled_from(TOKENS), max_size=6)
    .map("".join)
    .filter(lambda line: not re.search(r"[^/]\*\*|\*\*[^/]", line))
)
TREE = ("a", "b", "aa/a", "aa/b/c", "b.a/a/b/a", "c/a*/b", "c/# a", "c/b ", "ab")


@pytest.fixture(scope="module")
def repository(tmp_path_factory) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    root: Path = tmp_path_factory.mktemp("repository").resolve()
    for path in TREE:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).touch()
    subprocess.run(["git", "-C", str(root), "init", "-q"], check=True, timeout=20)
    return root


@settings(max_examples=200, deadline=None)
@given(lines=st.lists(LINES | LINES.map(lambda line: "!" + line), max_size=3))
def test_a_gitignore_means_what_git_reads_in_it(repository: Path, lines):
    (repository / ".gitignore").write_text("\n".join(lines), encoding="utf-8")
    command = [
        "git",
        "-C",
        str(repository),
        "ls-files",
        "-z",
        "--others",
        "--exclude-per-directory=.gitignore",
    ]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    found = {path.relative_to(repository).as_posix() for path in walk(repository, Missed())}
    assert found == set(listed.stdout.split("\0")) - {""}
