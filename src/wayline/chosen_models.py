"""Which models there are, by settings, command line and environment; each is made when first used."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import msgspec

from wayline import settings
from wayline.acp.options import ModelChoice
from wayline.homes import Homes
from wayline.models import catalog
from wayline.models.base import ModelError, NoCredentials
from wayline.models.catalog import ProviderConfig
from wayline.settings import Settings, SettingsError

if TYPE_CHECKING:
    from wayline.models.base import Model

#: what is shown as the window of a scripted or replayed model, in tokens
DETERMINISTIC_WINDOW = 100_000


class UnusableModel(ModelError):
    """The model of the settings or the command line cannot be used; the message says why."""


class Models:
    """The models there are; each is made when first used."""

    def __init__(self, homes: Homes, chosen: Settings, environ: Mapping[str, str]) -> None:
        self._homes = homes
        self._environ = environ
        self._made: dict[str, Model] = {}
        self._providers = {**catalog.PROVIDERS, **chosen.providers}
        if base_url := environ.get("DEEPSEEK_BASE_URL"):
            deepseek = self._providers["deepseek"]
            self._providers["deepseek"] = msgspec.structs.replace(deepseek, base_url=base_url)
        self.choices = [
            ModelChoice(f"{provider}/{name}", name, provider)
            for provider, config in self._providers.items()
            for name in config.models
        ]
        self.default = self._full_id(chosen.model)
        if self.default not in [choice.id for choice in self.choices]:
            provider, _, name = self.default.replace(":", "/", 1).partition("/")
            self.choices.insert(0, ModelChoice(self.default, name or provider, provider))
        if _deterministic(self.default):
            # A script that cannot be played is said at once, not at the first prompt.
            self.get(self.default)

    def _full_id(self, model: str) -> str:
        """The id with its provider. Raises `UnusableModel`."""
        if _deterministic(model):
            return model
        try:
            return "/".join(catalog.split(model, self._providers))
        except catalog.UnknownProvider as error:
            raise UnusableModel(str(error)) from None

    def get(self, model: str) -> "Model":
        """The model of that id. Raises `UnusableModel`."""
        if model not in self._made:
            self._made[model] = self._make(model)
        return self._made[model]

    def _make(self, model: str) -> "Model":
        kind, _, argument = model.partition(":")
        if kind == "scripted" and _deterministic(model):
            from wayline.models import scripted

            try:
                return scripted.load(Path(argument) if argument else scripted.DEMO)
            except scripted.ScriptError as error:
                raise UnusableModel(str(error)) from None
        if kind == "replay" and _deterministic(model):
            from wayline.models import replay

            try:
                return replay.load([Path(log) for log in argument.split(",")])
            except replay.ReplayError as error:
                raise UnusableModel(str(error)) from None
        from wayline.models.openai_chat import ChatModel

        provider, name = catalog.split(model, self._providers)
        return ChatModel(provider, name, self._providers[provider], lambda: self._key(provider))

    def _config(self, model: str) -> ProviderConfig | None:
        """None for a scripted or replayed model."""
        return None if _deterministic(model) else self._providers[catalog.split(model, self._providers)[0]]

    def window(self, model: str) -> int | None:
        """The context window in tokens, when known."""
        config = self._config(model)
        return DETERMINISTIC_WINDOW if config is None else config.context_window

    def takes_images(self, model: str) -> bool:
        """Whether the model can be sent images."""
        config = self._config(model)
        return config is not None and config.takes_images

    def missing_credentials(self, model: str) -> str | None:
        """What to set so that the model can be used, None when it can."""
        config = self._config(model)
        if config is None or config.key_env is None:
            return None
        provider = catalog.split(model, self._providers)[0]
        try:
            if self._key(provider):
                return None
        except NoCredentials as error:
            return str(error)
        return (
            f"{provider} needs a key: set {config.key_env}, or put it under [keys] as {provider} "
            f"into {self._homes.config / settings.CREDENTIALS_FILE}"
        )

    def _key(self, provider: str) -> str | None:
        """The provider's key, read anew: environment first, then the credentials file.

        Raises `NoCredentials` when that file cannot be read.
        """
        key_env = self._providers[provider].key_env
        if key_env and (key := self._environ.get(key_env)):
            return key
        try:
            return settings.read_credentials(self._homes).keys.get(provider)
        except SettingsError as error:
            raise NoCredentials(str(error)) from None

    async def close(self) -> None:
        """Close the connections that models hold."""
        for model in self._made.values():
            if isinstance(model, Closable):
                await model.aclose()


def _deterministic(model: str) -> bool:
    """Whether the model is a script or a recorded log."""
    return model.partition(":")[0] in ("scripted", "replay")


@runtime_checkable
class Closable(Protocol):
    """A model that holds connections."""

    async def aclose(self) -> None:
        """Let them go."""
