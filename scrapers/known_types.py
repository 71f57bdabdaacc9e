"""What the bundled catalog knows of instance types, for the doors that have no database."""

from collections.abc import Mapping
from functools import cache

from catalog.facts import DATA, read
from catalog.records import Fact


@cache
def known_types() -> Mapping[str, Mapping[str, list[Fact]]]:
    """By provider, by the type's name."""
    types: dict[str, dict[str, list[Fact]]] = {}
    for fact in read(DATA / "instances.csv"):
        provider, _, name = fact.subject.partition("/")
        types.setdefault(provider, {}).setdefault(name, []).append(fact)
    return types


def facts_of(provider: str, instance_type: str) -> list[Fact]:
    return known_types().get(provider, {}).get(instance_type, [])
