"""Known providers of the chat-completions dialect and their models: pure data.

UnknownProvider    a model id names a provider nobody configured; the message names the known ones
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

DEFAULT_MODEL = "deepseek/deepseek-v4-flash"

#: Where a provider differs from the dialect:
#:
#: `ends_with_done`        its stream ends with `[DONE]`, and without it was cut off
#: `wants_reasoning_back`  an assistant message with tool calls must carry its `reasoning_content` again
#: `no_stream_options`     it refuses `stream_options`
Quirk = Literal["ends_with_done", "wants_reasoning_back", "no_stream_options"]


class UnknownProvider(ValueError):
    """A model id with a provider that is not configured."""


HeaderName = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")]
HeaderValue = Annotated[str, msgspec.Meta(pattern=r"^[\t -~\x80-\xff]*$")]


class ProviderConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider: `[providers.NAME]` in settings.

    `base_url` is what `/chat/completions` is added to; `key_env` the variable that holds the key, None
    when none is needed; `context_window` in tokens; `read_timeout` the seconds between two bytes;
    `extra_body` is put into each request as it is (`thinking`, `reasoning_effort`).
    """

    base_url: Annotated[str, msgspec.Meta(pattern=r"^https?://[^\s/]+")]
    key_env: str | None = None
    models: tuple[str, ...] = ()
    context_window: Annotated[int, msgspec.Meta(gt=0)] | None = None
    takes_images: bool = False
    quirks: tuple[Quirk, ...] = ()
    headers: dict[HeaderName, HeaderValue] = {}
    extra_body: dict[str, Any] = {}
    read_timeout: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 120.0


PROVIDERS: Mapping[str, ProviderConfig] = {
    "deepseek": ProviderConfig(
        base_url="https://api.deepseek.com",
        key_env="DEEPSEEK_API_KEY",
        models=("deepseek-v4-flash", "deepseek-v4-pro"),
        context_window=1_000_000,
        quirks=("ends_with_done", "wants_reasoning_back"),
    ),
    "openai": ProviderConfig(
        base_url="https://api.openai.com/v1", key_env="OPENAI_API_KEY", quirks=("ends_with_done",)
    ),
    "openrouter": ProviderConfig(base_url="https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY"),
    "ollama": ProviderConfig(base_url="http://127.0.0.1:11434/v1"),
    "vllm": ProviderConfig(base_url="http://127.0.0.1:8000/v1"),
    "llama.cpp": ProviderConfig(base_url="http://127.0.0.1:8080/v1"),
}


def split(model_id: str, providers: Mapping[str, ProviderConfig]) -> tuple[str, str]:
    """`provider/model` as its two parts; a bare name is looked up among the listed models.

    Raises `UnknownProvider`.
    """
    provider, slash, name = model_id.partition("/")
    if slash and name and provider in providers:
        return provider, name
    for known, config in providers.items():
        if model_id in config.models:
            return known, model_id
    raise UnknownProvider(
        f"no provider is known for model {model_id!r}; write it as PROVIDER/MODEL with one of: "
        f"{', '.join(providers)}, or add [providers.NAME] to settings.toml"
    )
