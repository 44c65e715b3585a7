"""Looks at the world after the conversation: the session's log (Wayline's), the workspace's files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from wayline.models import scripted
from wayline.transcripts.format import FileState, LogEvent
from wayline.transcripts.playing.conversation import Failed
from wayline.transcripts.playing.matching import MISSING, Comparison, Variables, compare, fill
from wayline.transcripts.playing.places import Place

#: the events that stand for one request to a model
REQUESTS = ("step/start", "llm/retry")


def look_at_log(place: Place, step: LogEvent, variables: Variables) -> Comparison:
    """Look for an event. Raises `Failed`."""
    session = fill(step.session, variables)
    found = list(place.home.glob(f"sessions/*/{session}/log.jsonl"))
    if not found:
        raise Failed(f"there is no log of session {session}; only Wayline keeps one", expected=step.log)
    events = events_of(found[0])
    fitting = [each for event in events if (each := compare(step.log, event, variables)).fits]
    wanted = "at least one" if step.times is None else str(step.times)
    if fitting if step.times is None else len(fitting) == step.times:
        return fitting[0] if fitting else Comparison((), {})
    kind = step.log.get("type")
    alike = [event for event in events if event.get("type") == kind]
    raise Failed(
        f"the log has {len(fitting)} such events, not {wanted}, among {len(alike)} of type {kind}",
        expected=step.log,
        value=alike[-1] if alike else MISSING,
    )


def look_at_file(place: Place, state: FileState, variables: Variables) -> Comparison:
    """Look at a file. Raises `Failed`."""
    path = place.workspace / fill(state.path, variables)
    if state.absent:
        if path.exists():
            raise Failed(f"the file {state.path} is there")
        return Comparison((), {})
    try:
        text = path.read_bytes().decode("utf-8", "surrogateescape")
    except OSError as error:
        raise Failed(f"the file {state.path} cannot be read: {error.strerror}") from None
    comparison = compare(state.text, text, variables)
    if not comparison.fits:
        raise Failed(f"the file {state.path} holds another text", expected=state.text, value=text)
    return comparison


def events_of(log: Path) -> list[dict[str, Any]]:
    """The events of a session's log, as far as it is whole."""
    lines = log.read_bytes().split(b"\n")[1:-1]
    return [msgspec.json.decode(line) for line in lines]


def check_script(place: Place) -> None:
    """Raises `Failed` when the model's script has lines that no session reached."""
    kind, _, script = (place.model or "").partition(":")
    logs = list(place.home.glob("sessions/*/*/log.jsonl"))
    if kind != "scripted" or not script or not logs:
        return
    reached = max(_requests(events_of(log)) for log in logs)
    lines = len([line for line in scripted.read(Path(script)) if scripted.purpose_of(line) == "turn"])
    if reached < lines:
        raise Failed(f"the model's script has {lines} lines, and no session came further than {reached}")


def _requests(events: Sequence[dict[str, Any]]) -> int:
    return sum(event["type"] in REQUESTS for event in events)
