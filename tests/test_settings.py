"""The person's settings and keys, as they are read."""

import os
from pathlib import Path

import pytest

from wayline import settings
from wayline.chosen_models import Models, UnusableModel
from wayline.homes import Homes
from wayline.models.base import NoCredentials
from wayline.models.catalog import PROVIDERS
from wayline.settings import SettingsError


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    return Homes(tmp_path, tmp_path)


def write(homes: Homes, text: str, name: str = settings.SETTINGS_FILE) -> None:
    (homes.config / name).write_text(text, encoding="utf-8")


def test_later_ones_win(homes: Homes):
    assert settings.load(homes, {}).mode == "ask"
    write(homes, 'mode = "plan"\n')
    assert settings.load(homes, {}).mode == "plan"
    assert settings.load(homes, {"WAYLINE_MODE": "full"}).mode == "full"
    assert settings.load(homes, {"WAYLINE_MODE": "full"}, mode="accept-edits").mode == "accept-edits"


def test_a_table_for_a_known_provider_changes_what_it_names_and_keeps_the_rest(homes: Homes):
    write(homes, '[providers.deepseek]\nbase_url = "http://127.0.0.1:1"\n')
    changed = settings.load(homes, {}).providers["deepseek"]
    assert changed.base_url == "http://127.0.0.1:1"
    assert changed.quirks == PROVIDERS["deepseek"].quirks
    assert changed.key_env == "DEEPSEEK_API_KEY"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[providers.mine]\nmodels = ["a"]\n', "base_url"),
        ('[providers.mine]\nbase_url = "http://x"\nquirks = ["odd"]\n', "odd"),
        ("providers = 7\n", "providers"),
        ("[limits]\nsteps = 'many'\n", "steps"),
        ("[limits]\nsteps = 0\n", "steps"),
        ("[limits]\njitter = 2.0\n", "jitter"),
        ("[todo]\nenabled = 'yes'\n", "enabled"),
        ("[limits\n", "settings.toml"),
    ],
)
def test_what_cannot_be_used_is_named(homes: Homes, text: str, said: str):
    write(homes, text)
    with pytest.raises(SettingsError, match=said) as raised:
        settings.load(homes, {})
    assert str(homes.config / settings.SETTINGS_FILE) in str(raised.value)


def test_a_key_comes_from_the_environment_and_then_from_the_file(
    homes: Homes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    models = Models(homes, settings.load(homes, {}), os.environ)
    missing = models.missing_credentials(models.default)
    assert missing is not None
    assert "DEEPSEEK_API_KEY" in missing
    write(homes, '[keys]\ndeepseek = "from-file"\n', settings.CREDENTIALS_FILE)
    assert models.missing_credentials(models.default) is None
    monkeypatch.setenv("DEEPSEEK_API_KEY", "from-environment")
    assert models._key("deepseek") == "from-environment"


def test_a_credentials_file_that_cannot_be_read_is_said_and_is_no_crash(
    homes: Homes, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    write(homes, "keys = 7\n", settings.CREDENTIALS_FILE)
    models = Models(homes, settings.load(homes, {}), os.environ)
    said = models.missing_credentials(models.default)
    assert said is not None
    assert settings.CREDENTIALS_FILE in said
    with pytest.raises(NoCredentials):
        models._key("deepseek")


def test_models_are_known_by_their_whole_id_and_a_bare_name_is_found(homes: Homes):
    write(
        homes, '[providers.mine]\nbase_url = "http://127.0.0.1:1"\nmodels = ["tiny"]\ncontext_window = 8000\n'
    )
    models = Models(homes, settings.load(homes, {}, model="tiny"), os.environ)
    assert models.default == "mine/tiny"
    assert models.window("mine/tiny") == 8000
    assert models.missing_credentials("mine/tiny") is None
    with pytest.raises(UnusableModel, match="nobody"):
        Models(homes, settings.load(homes, {}, model="nobody/x"), os.environ)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('[plugins.todo]\nallow_parallel = "false"\n', "plugins.todo.allow_parallel"),
        ("[plugins.todo]\nallow_paralel = true\n", "allow_paralel"),
        ("[plugins.tod]\nx = 1\n", "tod"),
        ("[permissions]\npatience = -1\n", "permissions.patience"),
        ("[permissions]\npatience = nan\n", "permissions.patience"),
        ("[permissions]\npatience = inf\n", "permissions.patience"),
        ("[providers.deepseek]\nread_timeout = -3\n", "read_timeout"),
        ("[providers.deepseek]\nread_timeout = nan\n", "read_timeout"),
        ("[providers.deepseek]\ncontext_window = -5\n", "context_window"),
        ('[providers.deepseek]\nbase_url = "notaurl"\n', "base_url"),
        ('[providers.deepseek]\nheaders = {a = "b\\nc"}\n', "headers"),
        ("[limits]\nfirst_delay = nan\n", "first_delay"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused_with_its_place(homes: Homes, text: str, place: str):
    write(homes, text)
    with pytest.raises(settings.SettingsError, match=place):
        settings.load(homes, {})
