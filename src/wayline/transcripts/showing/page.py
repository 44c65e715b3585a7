"""A transcript as one page of HTML: no scripts, nothing fetched, everything of the transcript escaped."""

import base64
import hashlib

from wayline.transcripts.format import Transcript
from wayline.transcripts.showing.differences import hunks
from wayline.transcripts.showing.foreign import lines_of, shortened
from wayline.transcripts.showing.markup import Markup, element, together
from wayline.transcripts.showing.sheets import (
    Changes,
    Code,
    Facts,
    Inner,
    Item,
    Items,
    Part,
    Prose,
    Sheet,
    Tone,
    Verdict,
    sessions,
    sheet,
)
from wayline.transcripts.showing.staging import scenes

#: lines of one text on the page, and how many of them are seen without unfolding; characters of one line
LINES, FOLDED, LINE = 5000, 24, 20_000

_STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1c1e21; --quiet: #62676e; --rule: #dfe2e6;
  --box: #f5f6f8; --blue: #0b5cad; --violet: #7a3aa8; --amber: #8a5a00; --green: #116b33; --red: #b3261e;
  --added: #e2f5e7; --removed: #fde7e5; }
@media (prefers-color-scheme: dark) { :root { --paper: #16181b; --ink: #e4e6e9; --quiet: #9aa0a8;
  --rule: #34383e; --box: #1f2226; --blue: #7db7f5; --violet: #cf9bf3; --amber: #e3b458; --green: #74cf92;
  --red: #f58f86; --added: #16321f; --removed: #3b1c1a; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1.5rem 1rem 4rem; max-width: 62rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; }
section { display: grid; grid-template-columns: 3rem minmax(0, 1fr); border-top: 1px solid var(--rule);
  padding: .6rem 0; }
section section { border-top: 0; padding: .2rem 0; }
.line { color: var(--quiet); font: .75rem/2 ui-monospace, monospace; text-decoration: none; }
h1, h2 { font-size: 1rem; margin: 0; font-weight: 400; overflow-wrap: anywhere; }
h1 b { font-size: 1.4rem; }
.label { font-weight: 700; }
.detail, .aside, .remark, .what { color: var(--quiet); font-size: .875rem; }
.aside, .what { overflow-wrap: anywhere; }
p { margin: .25rem 0; white-space: pre-wrap; overflow-wrap: anywhere; }
pre { margin: .25rem 0; padding: .4rem .6rem; background: var(--box); border-radius: .3rem; overflow-x: auto;
  font: .8125rem/1.45 ui-monospace, monospace; }
pre.wrapped { white-space: pre-wrap; overflow-wrap: anywhere; }
summary { cursor: pointer; color: var(--quiet); font-size: .875rem; }
ul { list-style: none; margin: .25rem 0; padding: 0; overflow-wrap: anywhere; }
.mark { font-family: ui-monospace, monospace; white-space: pre; }
.quiet { color: var(--quiet); }
.person, .tool { color: var(--blue); }
.plan { color: var(--violet); }
.question, .changed { color: var(--amber); }
.good { color: var(--green); }
.bad { color: var(--red); }
.row { display: block; width: max-content; min-width: 100%; min-height: 1.45em; }
.row.added { background: var(--added); }
.row.removed { background: var(--removed); }
.row.hunk { color: var(--quiet); }
"""
_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
#: a second wall behind the escaping: nothing runs and nothing is fetched, whatever gets onto the page
_POLICY = f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'"


def page(transcript: Transcript) -> str:
    """The transcript as a page."""
    sheets = [sheet(scene) for scene in scenes(transcript)]
    several = len(sessions(sheets)) > 1
    first, *others = (_section(each, several, number) for number, each in enumerate(sheets))
    head = element(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        element("title", shortened(transcript.meta.name, 200)),
        element("style", Markup(_STYLE)),
    )
    body = element("body", element("header", first), element("main", *others))
    return f"<!doctype html>\n{element('html', head, body, lang='en').text}\n"


def _section(each: Sheet, several: bool, number: int | None = None) -> Markup:
    heading = [element("span", each.label, class_=f"label {each.tone}")]
    if several and each.session:
        heading.append(element("span", f" [{each.session}]", class_="detail"))
    if each.title:
        heading.append(together(" ", element("b" if number == 0 else "span", each.title)))
    if each.detail:
        heading.append(together(" ", element("span", each.detail, class_="detail")))
    aside = [element("div", shortened(each.aside, LINE), class_="aside")] if each.aside else []
    parts = [_part(part, several) for part in each.parts]
    inside = element("div", element("h1" if number == 0 else "h2", *heading), *parts, *aside)
    if number is None:
        return element("section", element("span", class_="line"), inside)
    name = f"L{each.line}"
    return element("section", element("a", str(each.line), class_="line", href=f"#{name}"), inside, id=name)


def _part(part: Part, several: bool) -> Markup:
    match part:
        case Prose(text, tone):
            return _folded(text, "p", tone)
        case Code(label, text):
            what = [element("div", shortened(label, 300), class_="what")] if label else []
            return together(*what, _folded(text, "pre", "plain"))
        case Changes():
            return _changes(part)
        case Items(items):
            return element("ul", *map(_item, items))
        case Verdict(line, text, tone):
            said = f"line {line}" if line else ""
            remark = element("span", said, class_="remark")
            return element("p", element("span", f"→ {shortened(text, LINE)} ", class_=tone), remark)
        case Facts(facts):
            return together(*(_part(Code(name, text), several) for name, text in facts))
        case Inner(sheets):
            return element("div", *(_section(each, several) for each in sheets))


def _folded(text: str, name: str, tone: Tone) -> Markup:
    """A text; of a long one the beginning, and the rest to unfold."""
    lines = lines_of(text, LINES, LINE)
    # One line is JSON or a sentence: it reads better wrapped than behind a scroll bar.
    css = f"{tone} wrapped" if name == "pre" and len(lines) == 1 else tone
    if len(lines) <= FOLDED * 2:
        return element(name, "\n".join(lines), class_=css)
    rest = lines[FOLDED:]
    more = element("summary", f"{len(rest):,} lines more")
    return together(
        element(name, "\n".join(lines[:FOLDED]), class_=css),
        element("details", more, element(name, "\n".join(rest), class_=css)),
    )


def _changes(change: Changes) -> Markup:
    new = "new text of " if change.old is None else "change of "
    title = element("div", f"{new}{shortened(change.path, 300)}", class_="what")
    found = hunks(change.old, change.new)
    text = "\n".join(row for hunk in found for row in (hunk.header, *hunk.rows))
    rows = [_row(row) for row in lines_of(text, LINES, LINE)] if found else [_row("(nothing changed)")]
    if len(rows) <= FOLDED * 2:
        return together(title, element("pre", *rows))
    more = element("summary", f"{len(rows) - FOLDED:,} lines more")
    rest = element("details", more, element("pre", *rows[FOLDED:]))
    return together(title, element("pre", *rows[:FOLDED]), rest)


def _row(text: str) -> Markup:
    return element("span", text, class_=f"row {_DIFF.get(text[:1], '')}".strip())


_DIFF = {"+": "added", "-": "removed", "@": "hunk", "\\": "hunk", "[": "hunk", "(": "hunk"}


def _item(item: Item) -> Markup:
    remark = element("span", f"  ({item.remark})", class_="remark") if item.remark else ""
    text = element("span", f" {shortened(item.text, LINE)}", class_=item.tone)
    return element("li", element("span", item.mark, class_=f"mark {item.tone}"), text, remark)
