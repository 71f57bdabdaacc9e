"""Providers are found by walking providers/, and by nothing else."""

import pkgutil
from datetime import timedelta
from pathlib import Path

import pytest

from scrapers import providers
from scrapers.registry import PROVIDERS, UnknownProvider, modules, provider_module


def test_every_file_is_one_provider_of_its_own_name():
    files = {module.name for module in pkgutil.iter_modules(providers.__path__)}
    assert files == set(PROVIDERS)
    assert all(module.PROVIDER.slug == slug for slug, module in modules().items())


@pytest.mark.parametrize("provider", PROVIDERS.values(), ids=lambda p: p.slug)
def test_a_provider_says_who_it_is_and_when_to_look(provider):
    assert provider.title
    assert provider.homepage.startswith("https://")
    assert provider.source.startswith("https://")
    assert timedelta(minutes=10) <= provider.refresh <= timedelta(days=7)
    assert all(name.isupper() for name in provider.credentials)


def test_an_unknown_slug_names_those_there_are():
    with pytest.raises(UnknownProvider, match="there are aws, azure"):
        provider_module("nope")


def test_nothing_else_lists_them():
    room = Path(providers.__file__).parent.parent
    for file in ("registry.py", "normalise.py", "http.py", "__main__.py"):
        text = (room / file).read_text(encoding="utf-8")
        assert not [slug for slug in PROVIDERS if f'"{slug}"' in text], file
