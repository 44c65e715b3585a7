"""What the client of a transcript answers by itself, as `meta.client` says."""

from pathlib import Path
from typing import Any

from wayline.transcripts.format import Frame
from wayline.transcripts.playing.matching import fill
from wayline.transcripts.playing.places import Place

PERMISSION = "session/request_permission"
#: the kinds of options that a word for permissions chooses from, first choice first
CHOICES = {"allow": ("allow_once", "allow_always"), "reject": ("reject_once", "reject_always")}

Reply = tuple[str, Any]


class Client:
    """Answers for methods; `"workspace"` in place of a result lets `fs/…` read and write real files."""

    def __init__(self, answers: dict[str, Any], place: Place) -> None:
        self._answers = answers
        self._place = place

    def reply(self, question: Frame) -> Reply | None:
        """The member of the response and its value; None when the question stays open."""
        method, params = question["method"], question.get("params")
        if method not in self._answers or not isinstance(params, dict):
            return None
        answer = self._answers[method]
        if method == PERMISSION and isinstance(answer, str):
            return "result", {"outcome": _outcome(answer, params)}
        if method.startswith("fs/") and answer == "workspace":
            return _file(method, params, self._place.root)
        return "result", fill(answer, self._place.variables)


def _outcome(word: str, params: dict[str, Any]) -> dict[str, Any]:
    options = params.get("options", [])
    for kind in CHOICES.get(word, ()):
        for option in options:
            if option.get("kind") == kind:
                return {"outcome": "selected", "optionId": option.get("optionId")}
    return {"outcome": "cancelled"}


def _file(method: str, params: dict[str, Any], root: Path) -> Reply:
    """Serve `fs/read_text_file` and `fs/write_text_file` below `root`."""
    path = Path(str(params.get("path")))
    if not path.resolve().is_relative_to(root):
        return "error", {"code": -32602, "message": f"{path} is not in the workspace"}
    try:
        if method == "fs/write_text_file":
            path.write_text(str(params.get("content")), encoding="utf-8")
            return "result", {}
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    except OSError as error:
        return "error", {"code": -32002, "message": str(error)}
    first = (params.get("line") or 1) - 1
    last = None if params.get("limit") is None else first + params["limit"]
    return "result", {"content": "".join(lines[first:last])}
