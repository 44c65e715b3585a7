"""From the lines that passed to the steps of a transcript. Pure."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from wayline.transcripts.format import Meta, Note, Step
from wayline.transcripts.recording.hearing import Came, Item, Request, hear
from wayline.transcripts.recording.selection import beats
from wayline.transcripts.recording.steps import Writing
from wayline.transcripts.recording.tape import Tapped
from wayline.transcripts.recording.volatile import Names, Surroundings

WAYLINE = "wayline"
#: the mode of Wayline's sessions when nothing else is chosen
DEFAULT_MODE = "ask"

MODEL_LEFT_OUT = "A change of the model is left out: the recorded log speaks for every model."


class Recording(msgspec.Struct, frozen=True):
    """A transcript that was recorded. `prompted` are the sessions in the order of their first prompts;
    `has_model` says whether the agent made a session, for which Wayline needs a model it may use."""

    meta: Meta
    steps: tuple[Step, ...]
    agent: str
    prompted: tuple[str, ...]
    has_model: bool


def recording(tapped: Iterable[Tapped], around: Surroundings, name: str) -> Recording:
    """The transcript of a conversation."""
    items: list[Item | Note] = list(hear(tapped))
    agent = _agent(items)
    if agent.get("name") == WAYLINE:
        items = list(_without_model_changes(items))
    writing = Writing(Names(around), wayline=agent.get("name") == WAYLINE)
    steps = [step for beat in beats(items) for step in writing.steps(beat)]
    meta = Meta(name=name, about=_about(agent), mode=_mode(items) if agent.get("name") == WAYLINE else None)
    return Recording(
        meta, tuple(steps), str(agent.get("name", "")), _prompted(items), any(map(_made_session, items))
    )


def _agent(items: Sequence[Item | Note]) -> dict[str, Any]:
    for item in items:
        if isinstance(item, Came) and item.request is not None and item.request.method == "initialize":
            result = item.frame.get("result")
            info = result.get("agentInfo") if isinstance(result, dict) else None
            return info if isinstance(info, dict) else {}
    return {}


def _about(agent: dict[str, Any]) -> str:
    words = [str(agent[key]) for key in ("name", "version") if key in agent]
    return f"recorded with {' '.join(words)}" if words else ""


def _mode(items: Sequence[Item | Note]) -> str | None:
    """The mode that sessions began in, when it is not the default."""
    for item in items:
        if isinstance(item, Came) and _made_session(item):
            result = item.frame["result"]
            modes = result.get("modes") if isinstance(result, dict) else None
            mode = modes.get("currentModeId") if isinstance(modes, dict) else None
            return str(mode) if mode not in (None, DEFAULT_MODE) else None
    return None


def _made_session(item: Item | Note) -> bool:
    answers = isinstance(item, Came) and item.request is not None and item.request.method == "session/new"
    return answers and isinstance(item, Came) and "result" in item.frame


def _prompted(items: Sequence[Item | Note]) -> tuple[str, ...]:
    prompts = (item for item in items if isinstance(item, Request) and item.method == "session/prompt")
    return tuple(dict.fromkeys(prompt.session for prompt in prompts if prompt.session))


def _without_model_changes(items: Iterable[Item | Note]) -> Iterator[Item | Note]:
    for item in items:
        request = item.request if isinstance(item, Came) else item
        if isinstance(request, Request) and _changes_model(request):
            if item is request:
                yield Note(MODEL_LEFT_OUT)
            continue
        yield item


def _changes_model(request: Request) -> bool:
    params = request.params
    asks = request.method == "session/set_config_option" and isinstance(params, dict)
    return asks and params.get("configId") == "model"
