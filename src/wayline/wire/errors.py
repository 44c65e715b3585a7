"""The errors that cross the wire (JSON-RPC 2.0 section 5.1, ACP "Error").

RpcError
├── ParseError         -32700  the line is not JSON
├── InvalidRequest     -32600  it is JSON and not a request
├── MethodNotFound     -32601
├── InvalidParams      -32602  with the path and what was expected
├── InternalError      -32603  anything else, with details a person can act on
├── RequestCancelled   -32800
├── AuthRequired       -32000
└── ResourceNotFound   -32002  no session of that id
"""

from typing import Any, ClassVar

#: Details are cut at this many characters, so that an error stays a short line.
DETAILS_LENGTH = 4000


class RpcError(Exception):
    """An error answer; `data` is what stands beside code and message."""

    code: ClassVar[int] = -32603
    title: ClassVar[str] = "Internal error"

    def __init__(self, details: str | None = None, **data: Any) -> None:
        super().__init__(details or self.title)
        if details is not None:
            data = {"details": details[:DETAILS_LENGTH], **data}
        self.data: dict[str, Any] = data

    def as_object(self) -> dict[str, Any]:
        """The `error` member of the answer."""
        error: dict[str, Any] = {"code": self.code, "message": self.title}
        if self.data:
            error["data"] = self.data
        return error


class ParseError(RpcError):
    """Not JSON."""

    code = -32700
    title = "Parse error"


class InvalidRequest(RpcError):
    """JSON, but not a request."""

    code = -32600
    title = "Invalid request"


class MethodNotFound(RpcError):
    """No such method here."""

    code = -32601
    title = "Method not found"


class InvalidParams(RpcError):
    """The parameters do not fit the method."""

    code = -32602
    title = "Invalid params"


class InternalError(RpcError):
    """It failed for a reason that is not the request's form."""


class RequestCancelled(RpcError):
    """The peer withdrew the request."""

    code = -32800
    title = "Request cancelled"


class AuthRequired(RpcError):
    """There are no credentials, or they are not taken."""

    code = -32000
    title = "Authentication required"


class ResourceNotFound(RpcError):
    """What the request names does not exist."""

    code = -32002
    title = "Resource not found"


class PeerError(Exception):
    """The peer answered a request of ours with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code


class Disconnected(Exception):
    """The peer is gone: a request of ours will not be answered."""
