"""Every frame that Wayline sends, held against the SDK's models: parsed, dumped, compared.

The models drop invalid items silently (a plan entry without a priority vanishes), so what comes back
must equal what was sent.
"""

from typing import Any

from acp import schema
from pydantic import BaseModel

RESULTS: dict[str, type[BaseModel]] = {
    "initialize": schema.InitializeResponse,
    "authenticate": schema.AuthenticateResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
    "session/prompt": schema.PromptResponse,
}
REQUESTS: dict[str, type[BaseModel]] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "$/cancel_request": schema.CancelRequestNotification,
}
#: what real clients can take in one line
LINE_LIMIT = 64 * 1024


def check(frame: dict[str, Any], line: bytes, asked: str | None) -> None:
    """Fail unless the frame is exactly what the protocol's models say it is. `asked` is the method that a
    result answers."""
    assert frame.get("jsonrpc") == "2.0", frame
    update = frame.get("params", {}).get("update", {}) if isinstance(frame.get("params"), dict) else {}
    if update.get("sessionUpdate") != "plan":
        assert len(line) < LINE_LIMIT, f"a line of {len(line)} bytes: {line[:200]!r}"
    if "method" in frame:
        same(REQUESTS[frame["method"]], frame["params"])
    elif "error" in frame:
        assert set(frame["error"]) <= {"code", "message", "data"}, frame
        assert "Traceback" not in str(frame["error"]), frame
    else:
        assert asked is not None, f"a result to nothing that was asked: {frame}"
        same(RESULTS[asked], frame["result"])


def same(model: type[BaseModel], sent: Any) -> None:
    """Fail unless parsing and dumping gives back what was sent."""
    back = model.model_validate(sent).model_dump(mode="json", by_alias=True, exclude_unset=True)
    assert back == sent, f"the model made {back} of {sent}"
