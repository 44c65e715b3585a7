"""What the person allowed for the rest of the session."""

from wayline.log.events import Event, PermissionDecided

Grants = frozenset[str]


def fold(state: Grants, event: Event) -> Grants:
    """Take one event."""
    match event.data:
        case PermissionDecided(outcome="allow-session", grant=grant):
            return state | {grant}
        case _:
            return state
