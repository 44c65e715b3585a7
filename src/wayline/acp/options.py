"""The options of a session as editors show them: permission mode and model."""

from collections.abc import Sequence
from typing import Any

import msgspec

from wayline.permissions.modes import MODES


class ModelChoice(msgspec.Struct, frozen=True):
    """A model a person can choose: its id (`provider/model`) and the provider's name."""

    id: str
    name: str
    provider: str


def modes(current: str) -> dict[str, Any]:
    """`modes`, for clients that do not know options."""
    available = [
        {"id": mode, "name": name, "description": description} for mode, (name, description) in MODES.items()
    ]
    return {"currentModeId": current, "availableModes": available}


def config_options(mode: str, model: str, choices: Sequence[ModelChoice]) -> list[dict[str, Any]]:
    """`configOptions`: the mode, and the model grouped by provider."""
    return [
        {
            "id": "mode",
            "name": "Mode",
            "category": "mode",
            "type": "select",
            "currentValue": mode,
            "options": [
                {"value": value, "name": name, "description": description}
                for value, (name, description) in MODES.items()
            ],
        },
        {
            "id": "model",
            "name": "Model",
            "category": "model",
            "type": "select",
            "currentValue": model,
            "options": _groups(choices),
        },
    ]


def _groups(choices: Sequence[ModelChoice]) -> list[dict[str, Any]]:
    providers = list(dict.fromkeys(choice.provider for choice in choices))
    return [
        {
            "group": provider,
            "name": provider,
            "options": [
                {"value": choice.id, "name": choice.name} for choice in choices if choice.provider == provider
            ],
        }
        for provider in providers
    ]
