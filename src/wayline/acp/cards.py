"""Tool cards as ACP content."""

from collections.abc import Sequence
from pathlib import Path
from typing import assert_never

import msgspec

from wayline.acp import limits
from wayline.acp.schema import CardContent, ContentCard, Diff, TextContent, ToolLocation
from wayline.tools.cards import Card, DiffCard, Location, TerminalCard, TextCard
from wayline.tools.presentation import fenced

#: cards of one update; what more there are is said in one
MOST = 12
#: bytes of a card beside its texts
_AROUND = 128

_encode = msgspec.json.Encoder().encode


def contents(cards: Sequence[Card], workspace: Path) -> tuple[CardContent, ...]:
    """The cards as content, so that all together stay within the limit of an update.

    Each may take the same room; what the small ones leave is for the others.
    """
    shown = [card for card in cards if not (isinstance(card, TerminalCard) and not card.text)]
    if len(shown) > MOST:
        more = len(shown) - MOST + 1
        shown = [*shown[: MOST - 1], TextCard(f"*{more} more are not shown*")]
    room = limits.CARDS
    made = {index: _content(card, workspace, room) for index, card in enumerate(shown)}
    smallest_first = sorted(made, key=lambda index: len(_encode(made[index])))
    for done, index in enumerate(smallest_first):
        share = room // (len(shown) - done)
        if len(_encode(made[index])) > share:
            made[index] = _content(shown[index], workspace, share)
        room -= len(_encode(made[index])) + 1
    return tuple(made.values())


def _content(card: Card, workspace: Path, budget: int) -> CardContent:
    room = budget - _AROUND
    match card:
        case TextCard(text=text):
            return ContentCard(TextContent(limits.head(text, room)))
        case TerminalCard(text=text):
            return ContentCard(TextContent(_block(text, room)))
        case DiffCard():
            return _diff(card, workspace, room)
        case _:
            assert_never(card)


def _block(text: str, room: int) -> str:
    """The end of an output, fenced. The fence counts: it is longer than what it must not be closed by."""
    kept = limits.tail(text, min(room, limits.STRING))
    while limits.size(block := fenced(kept.rstrip())) > room and kept:
        kept = kept[len(kept) // 4 + 1 :]
    return block


def _diff(card: DiffCard, workspace: Path, room: int) -> Diff:
    path = limits.line(str(workspace / card.path), limits.PATH)
    half = (room - limits.size(path)) // 2
    old = None if card.old is None else limits.head(card.old, half)
    return Diff(path, old, limits.head(card.new, half))


def locations(places: Sequence[Location], workspace: Path) -> tuple[ToolLocation, ...]:
    """Places with absolute paths, as many as there is room for."""
    kept: list[ToolLocation] = []
    room = limits.LOCATIONS
    for place in places:
        location = ToolLocation(str(workspace / place.path), place.line)
        room -= len(_encode(location)) + 1
        if room < 0:
            break
        kept.append(location)
    return tuple(kept)
