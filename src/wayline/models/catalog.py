"""Known providers and models: pure data."""

import msgspec

DEFAULT_MODEL = "deepseek/deepseek-v4-flash"


class ProviderConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider of the chat-completions dialect."""

    base_url: str
    key_env: str | None = None
    models: tuple[str, ...] = ()
    context_window: int | None = None
    takes_images: bool = False
    quirks: tuple[str, ...] = ()


PROVIDERS = {
    "deepseek": ProviderConfig(
        "https://api.deepseek.com",
        "DEEPSEEK_API_KEY",
        ("deepseek-v4-flash", "deepseek-v4-pro"),
        1_000_000,
    )
}
