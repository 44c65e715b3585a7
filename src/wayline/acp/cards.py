"""Tool cards as ACP content."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

from wayline.acp import limits
from wayline.acp.schema import CardContent, ContentCard, Diff, TextContent, ToolLocation
from wayline.tools.cards import Card, DiffCard, Location, TerminalCard, TextCard


def contents(cards: Sequence[Card], workspace: Path) -> tuple[CardContent, ...]:
    """The cards as content, each cut so that all together stay within the limit of an update."""
    shown = [card for card in cards if not (isinstance(card, TerminalCard) and not card.text)]
    budget = limits.CARDS // max(1, len(shown))
    return tuple(_content(card, workspace, budget) for card in shown)


def _content(card: Card, workspace: Path, budget: int) -> CardContent:
    match card:
        case TextCard(text=text):
            return ContentCard(TextContent(limits.head(text, budget)))
        case TerminalCard(text=text):
            return ContentCard(TextContent(fenced(limits.tail(text, min(budget, limits.STRING)))))
        case DiffCard():
            return _diff(card, workspace, budget)
        case _:
            assert_never(card)


def _diff(card: DiffCard, workspace: Path, budget: int) -> Diff:
    old = None if card.old is None else limits.head(card.old, budget // 2)
    return Diff(str(workspace / card.path), old, limits.head(card.new, budget // 2))


def fenced(text: str) -> str:
    """Text in a Markdown fence that no run of backticks inside it can close."""
    longest = max((len(run) for run in re.findall("`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}\n{text.rstrip()}\n{fence}"


def locations(places: Sequence[Location], workspace: Path) -> tuple[ToolLocation, ...]:
    """Places with absolute paths."""
    return tuple(ToolLocation(str(workspace / place.path), place.line) for place in places[:50])
