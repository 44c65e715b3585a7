"""Frames of an agent held against the SDK's models of the protocol: parsed, dumped, compared.

The models drop invalid items silently (a plan entry without a priority vanishes), so what comes back
must equal what was sent. Methods that the models do not know, such as extensions, are not looked at.
"""

from typing import Any

from acp import schema
from pydantic import BaseModel, TypeAdapter

from wayline.transcripts.format import Frame

RESULTS: dict[str, Any] = {
    "initialize": schema.InitializeResponse,
    "authenticate": schema.AuthenticateResponse,
    "logout": schema.LogoutResponse,
    "session/new": schema.NewSessionResponse,
    "session/load": schema.LoadSessionResponse,
    "session/resume": schema.ResumeSessionResponse,
    "session/fork": schema.ForkSessionResponse,
    "session/list": schema.ListSessionsResponse,
    "session/close": schema.CloseSessionResponse,
    "session/delete": schema.DeleteSessionResponse,
    "session/set_mode": schema.SetSessionModeResponse,
    "session/set_config_option": schema.SetSessionConfigOptionResponse,
    "session/prompt": schema.PromptResponse,
}
PARAMS: dict[str, Any] = {
    "session/update": schema.SessionNotification,
    "session/request_permission": schema.RequestPermissionRequest,
    "fs/read_text_file": schema.ReadTextFileRequest,
    "fs/write_text_file": schema.WriteTextFileRequest,
    "terminal/create": schema.CreateTerminalRequest,
    "terminal/output": schema.TerminalOutputRequest,
    "terminal/release": schema.ReleaseTerminalRequest,
    "terminal/wait_for_exit": schema.WaitForTerminalExitRequest,
    "terminal/kill": schema.KillTerminalRequest,
    "elicitation/create": schema.CreateElicitationRequest,
    "$/cancel_request": schema.CancelRequestNotification,
}


def check(frame: Frame, line: bytes, asked: str | None) -> None:
    """Raises `ValueError` unless the frame is what the protocol's models say it is.

    `asked` is the method that a response answers; None for a response that answers nothing.
    """
    if "method" in frame:
        _hold(PARAMS.get(frame["method"]), frame.get("params"))
    elif "error" in frame:
        _check_error(frame["error"])
    elif "result" in frame:
        if asked is None:
            raise ValueError(f"a result to nothing that was asked: {line[:200]!r}")
        _hold(RESULTS.get(asked), frame["result"])
    else:
        raise ValueError(f"neither a method nor a result nor an error: {line[:200]!r}")


def _check_error(error: Any) -> None:
    if not isinstance(error, dict) or not isinstance(error.get("code"), int):
        raise ValueError(f"an error without a code: {error!r}")
    if not isinstance(error.get("message"), str) or set(error) - {"code", "message", "data"}:
        raise ValueError(f"an error is a code, a message and data: {error!r}")


def _hold(model: type[BaseModel] | None, sent: Any) -> None:
    if model is None:
        return
    adapter: TypeAdapter[BaseModel] = TypeAdapter(model)
    # A ValidationError of pydantic is a ValueError.
    back = adapter.validate_python(sent)
    dumped = adapter.dump_python(back, mode="json", by_alias=True, exclude_unset=True)
    if dumped != sent:
        raise ValueError(f"the protocol's models make {dumped!r} of {sent!r}")
