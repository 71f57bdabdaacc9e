"""PROVIDERS, by slug: found by walking providers/. Nothing else lists them."""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Protocol, cast, runtime_checkable

from scrapers import providers
from scrapers.http import Http
from scrapers.listing import Document, Parsed, Provider


class Module(Protocol):
    """What a file of providers/ has."""

    PROVIDER: Provider

    def fetch(self, http: Http) -> Iterable[Document]:
        """Everything it lists, exactly as it answers. The only part that touches the network."""

    def parse(self, documents: Sequence[Document]) -> Parsed:
        """One listing for each thing on sale, from all the documents of one fetch."""


@runtime_checkable
class InParts(Module, Protocol):
    """A list too long for one task: `fetch` asks which parts it has, and each is fetched alone."""

    def parts(self, documents: Sequence[Document]) -> list[str]:
        """The parts that the answer of `fetch` names, each by the region it is of."""

    def fetch_part(self, http: Http, part: str) -> Iterable[Document]:
        """Everything that one part lists."""


class UnknownProvider(LookupError):
    """No file of providers/ has this slug."""


@cache
def modules() -> Mapping[str, Module]:
    """Every provider's file, by slug, in the order of their slugs."""
    names = sorted(module.name for module in pkgutil.iter_modules(providers.__path__))
    found = [importlib.import_module(f"{providers.__name__}.{name}") for name in names]
    return {module.PROVIDER.slug: cast("Module", module) for module in found}


def provider_module(slug: str) -> Module:
    """The file of one provider."""
    try:
        return modules()[slug]
    except KeyError:
        known = ", ".join(modules())
        raise UnknownProvider(f"no provider {slug[:40]!r}; there are {known}") from None


PROVIDERS: Mapping[str, Provider] = {slug: module.PROVIDER for slug, module in modules().items()}
