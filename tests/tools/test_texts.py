"""The pure parts: encodings, edits, globs, terminal codes."""

import re
from pathlib import PurePosixPath
from unicodedata import category

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wayline.tools.base import Failed
from wayline.tools.diffs import HUNKS, _alike, _alike_at_end, diffs
from wayline.tools.edits import SHOWN_LINES, edited
from wayline.tools.globs import Glob
from wayline.tools.presentation import WHOLE, fenced, in_one_line, shown_whole, visible, whole_text
from wayline.tools.results import ends, size
from wayline.tools.terminal_text import TerminalText
from wayline.tools.text_files import Binary, TextFile, decode

TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("\n\t"), max_size=60)


@given(TEXT, st.sampled_from(["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be"]))
def test_what_is_decoded_is_encoded_to_the_same_bytes(text, encoding):
    raw = TextFile("", encoding).encode(text)
    file = decode(raw)
    assert file.encode(file.text) == raw


@given(st.binary(max_size=80))
def test_any_bytes_are_text_that_comes_back_or_binary(raw):
    try:
        file = decode(raw)
    except Binary:
        return
    assert file.encode(file.text) == raw


def test_latin_1_that_cannot_say_it_becomes_utf_8():
    file = decode("caf\xe9".encode("latin-1"))
    assert file.encoding == "latin-1"
    assert file.encode("caf\xe9 €") == "caf\xe9 €".encode()


ENDED = st.lists(st.sampled_from(["a", "b", "\n", "\r\n"]), max_size=12).map("".join)


@settings(max_examples=500)
@given(ENDED, ENDED.filter(bool), st.booleans())
def test_an_edit_touches_what_it_names_and_no_line_end_else(text, old, replace_all):
    pattern = re.compile("\r?\n".join(old.replace("\r\n", "\n").split("\n")))
    found = list(pattern.finditer(text))
    try:
        result = edited(TextFile(text), old, "c", replace_all=replace_all)
    except Failed as failure:
        assert not found or (not replace_all and "more than once" in str(failure))
        return
    assert result.text == pattern.sub("c", text)
    lines = tuple(text.count("\n", 0, match.start()) + 1 for match in found)
    assert result.lines == (lines if len(lines) <= SHOWN_LINES else ())
    assert replace_all or len(found) == 1


def test_one_line_end_of_two_characters_is_one_place():
    assert edited(TextFile("a\r\nb"), "\n", " ", replace_all=False).text == "a b"


def test_an_edit_that_makes_too_much_of_a_file_is_refused():
    with pytest.raises(Failed, match="more than"):
        edited(TextFile("a" * 1_000_000), "a", "b" * 1_000, replace_all=True)


def test_an_edit_that_nobody_waits_for_ends():
    class Enough(Exception):
        pass

    def go_on():
        raise Enough

    for text, old in (("a\r\nb\n" * 10, "a\n"), ("b\n" * 10, "c")):
        with pytest.raises(Enough):
            edited(TextFile(text), old, "d", replace_all=True, go_on=go_on)


@pytest.mark.parametrize(
    ("text", "old", "new", "after"),
    [
        ("a\r\nb\nc\r\n", "a\nb\nc", "x\ny", "x\r\ny\r\n"),
        ("a\r\nb\r\n", "a\r\nb", "c\r\nd", "c\r\nd\r\n"),
        ("a\nb\n", "a", r"\1\g<0>", "\\1\\g<0>\nb\n"),
        ("a.b\naxb\n", "a.b", "c", "c\naxb\n"),
    ],
)
def test_edits_are_literal_and_keep_the_commoner_line_end(text, old, new, after):
    assert edited(TextFile(text), old, new, replace_all=False).text == after


def test_a_place_that_overlaps_itself_is_not_unique():
    with pytest.raises(Failed, match="more than once"):
        edited(TextFile("aaa"), "aa", "b", replace_all=False)


@given(
    st.lists(st.sampled_from(["a\n", "b\n", "c\n"]), max_size=40), st.lists(st.sampled_from(["a\n", "d\n"]))
)
def test_the_hunks_of_a_large_file_lead_from_old_to_new(before, inserted):
    old = "start\n" + "x" * 20_000 + "\n" + "".join(before)
    new = "start\n" + "x" * 20_000 + "\n" + "".join([*before[:20], *inserted, *before[20:]])
    for hunk in reversed(diffs("f", old, new)):
        if "x" * 100 in hunk["oldText"]:
            return  # cut with a note
        place = old.rfind(hunk["oldText"])
        assert place >= 0
        assert hunk["newText"] in new
    assert (old == new) == (diffs("f", old, new) == [])


@given(st.text("ab\n", max_size=40), st.text("ab\n", max_size=40), st.integers(1, 5))
def test_what_is_alike_is_found_whatever_the_step(start, end, step):
    one, other = f"{start}a{end}", f"{start}b{end}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("wayline.tools.diffs._STEP", step)
        assert _alike(one, other) == len(start)
        assert _alike_at_end(one, other) == len(end)
        assert _alike(one, one + end) == len(one)


def test_the_diffs_of_a_huge_change_are_bounded():
    old, new = "".join(f"{n}\n" for n in range(30_000)), "".join(f"{n} new\n" for n in range(30_000))
    kept = diffs("f", old, new)
    assert sum(size(diff["oldText"]) + size(diff["newText"]) for diff in kept) <= HUNKS + 200
    assert "bytes more" in kept[0]["newText"]


@pytest.mark.parametrize(
    ("pattern", "fits", "misses"),
    [
        ("*.py", ["a.py", "x/y/a.py"], ["a.pyc", "py"]),
        ("src/*.py", ["src/a.py"], ["src/x/a.py", "a.py"]),
        ("src/**/*.py", ["src/a.py", "src/x/y/a.py"], ["lib/src/a.py"]),
        ("**/test_*", ["test_a", "x/test_a"], ["x/a"]),
        ("docs/**", ["docs/a", "docs/x/a"], ["docs", "doc/a"]),
        ("*.{js,ts{,x}}", ["a.js", "a.ts", "a.tsx"], ["a.jsx"]),
        ("[!a]?[0-9].c", ["bx1.c"], ["ax1.c", "bxx.c"]),
        ("a[b", ["a[b"], ["ab"]),
        ("a.b+(c)", ["a.b+(c)"], ["axbc"]),
        ("./a/*", ["a/b"], ["b"]),
        ("[]x]y", ["]y", "xy"], ["zy"]),
    ],
)
def test_globs(pattern, fits, misses):
    glob = Glob(pattern)
    assert [path for path in fits if not glob.fits(PurePosixPath(path))] == []
    assert [path for path in misses if glob.fits(PurePosixPath(path))] == []


def test_braces_without_end_are_refused():
    with pytest.raises(ValueError, match="patterns"):
        Glob("{a,b}" * 10)
    with pytest.raises(ValueError, match="no glob"):
        Glob("[z-a]")


PIECES = [
    "a",
    "é",
    "\n",
    "\r\n",
    "\x1b[1;31m",
    "\x1b[0K",
    "\x1b]0;title\x07",
    "\x1b]8;;x\x1b\\",
    "\x1b(B",
    "€",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.data())
def test_terminal_codes_go_wherever_the_output_is_cut(text, data):
    raw = text.encode()
    cuts = sorted(data.draw(st.sets(st.integers(0, len(raw)), max_size=10)))
    output = TerminalText()
    told = [output.feed(raw[i:j]) for i, j in zip([0, *cuts], [*cuts, len(raw)], strict=True)]
    told.append(output.feed(b"", final=True))
    expected = text
    for code in PIECES[4:9]:
        expected = expected.replace(code, "")
    expected = expected.replace("\r\n", "\n")
    assert "".join(told) == expected
    assert output.text() == expected


@given(st.text("ab\r\n", max_size=40))
def test_a_line_looks_as_it_did_after_its_carriage_returns(text):
    output = TerminalText()
    output.feed(text.encode(), final=True)
    overwritten = re.sub(r"[^\r\n]*\r+(?=[^\r\n])", "", text.replace("\r\n", "\n"))
    assert output.text() == overwritten.replace("\r", "")


@given(st.lists(st.text("abc", min_size=1, max_size=30), max_size=20))
def test_memory_is_bounded_and_what_is_left_out_counted(pieces):
    output = TerminalText(head=10, tail=10)
    for piece in pieces:
        output.feed(piece.encode())
    whole = "".join(pieces)
    if len(whole) <= 20:
        assert output.text() == whole
    else:
        assert output.text() == f"{whole[:10]}\n[{len(whole) - 20} characters left out]\n{whole[-10:]}"


@given(st.text(st.sampled_from("a`\n")))
def test_nothing_in_a_block_closes_its_fence(text):
    fence, *_, last = fenced(text).split("\n")
    assert fence == last
    assert fence not in text


@given(st.text(max_size=300), st.integers(1, 60))
def test_ends_are_parts_of_the_text(text, room):
    text = text.encode(errors="ignore").decode()
    head, tail = ends(text, room, 5)
    assert text.startswith(head)
    assert text.endswith(tail)
    assert size(head) <= room
    assert size(tail) <= room


@given(st.text())
def test_nothing_that_is_shown_is_unseen(text):
    shown = in_one_line(text)
    assert not [c for c in shown if category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Co")]
    assert not [c for c in shown if c.isspace() and c != " "]
    assert in_one_line(shown) == shown
    assert shown != text or not any(c in text for c in "\n\r\t\x1b\u202e\u200b\xa0")
    assert visible(text).count("\n") == text.count("\n")


@given(st.text("ab `~\n\x1b", max_size=50), st.integers(1, 2000))
def test_a_text_is_shown_whole_or_says_that_it_is_not(piece, count):
    text = piece * count
    card = whole_text(text, "command").text
    assert len(msgspec.json.encode(card)) <= WHOLE
    assert (visible(text).rstrip("\n") in card) or (not shown_whole(text) and f"has {len(text)} char" in card)
