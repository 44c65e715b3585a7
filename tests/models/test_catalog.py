"""Model ids and providers."""

import pytest

from wayline.models.catalog import DEFAULT_MODEL, PROVIDERS, ProviderConfig, UnknownProvider, split


def test_the_default_is_a_known_model():
    assert split(DEFAULT_MODEL, PROVIDERS) == ("deepseek", "deepseek-v4-flash")


def test_a_bare_name_is_found_and_a_name_may_hold_slashes():
    assert split("deepseek-v4-pro", PROVIDERS) == ("deepseek", "deepseek-v4-pro")
    assert split("openrouter/meta/llama", PROVIDERS) == ("openrouter", "meta/llama")
    own = {**PROVIDERS, "mine": ProviderConfig(base_url="http://127.0.0.1:1", models=("tiny",))}
    assert split("tiny", own) == ("mine", "tiny")


@pytest.mark.parametrize("model", ["nobody/x", "unheard-of", "deepseek/", ""])
def test_an_unknown_provider_is_refused_with_the_known_ones(model: str):
    with pytest.raises(UnknownProvider, match="deepseek, openai"):
        split(model, PROVIDERS)
