"""What providers of the chat-completions dialect say when they will not answer, in all their forms."""

import json
from typing import Any

from wayline.models.base import ContextOverflow, ModelError, NoCredentials, RequestRefused, Unavailable

#: characters of a provider's words that are kept
WORDS = 1000


def in_band(error: Any) -> ModelError:
    """An error that came inside an answer with status 200; its `code` may be the status it would have had."""
    said = words(error)
    code = str(error.get("code")) if isinstance(error, dict) else ""
    if is_overflow(said):
        return ContextOverflow(said)
    if code in ("401", "403"):
        return NoCredentials(said)
    if code in ("400", "402", "404", "413", "422"):
        return RequestRefused(said)
    return Unavailable(said)


def words(error: Any) -> str:
    """The provider's own words, out of whatever form it gives errors."""
    if isinstance(error, dict):
        inner = error.get("error", error.get("message", error.get("detail")))
        return words(inner) if inner is not None else json.dumps(error)[:WORDS]
    return str(error)[:WORDS]


def is_overflow(said: str) -> bool:
    """Whether an error's words say that the request was too long; there is no code for it that all use."""
    lowered = said.lower()
    return any(
        sign in lowered
        for sign in (
            "context length",
            "context_length",
            "maximum context",
            "context window",
            "too many tokens",
        )
    )
