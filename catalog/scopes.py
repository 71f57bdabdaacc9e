"""What a fact with a scope says of a region, and what is known of a type there.

A scope is in the words of its source: a region ("eu-gb"), zones of one ("eu-de (fra04)",
"us-east-1a", "us-central1-a") or several ("eu-de-2, us-east-3"). What names no region of the
provider ("demonstrated run") holds in none that could be asked for, and stays with its fact.

In a region, what is said of it speaks before what is said of the whole type. Where its provider
says that instances are not joined there, the fabric that they have elsewhere is not theirs: of
what joins them there, nobody has said anything.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from catalog.facts import ATTRIBUTES, promise, speaking
from catalog.ledger import spec
from catalog.records import Fact, MultiNode, Value

ASIDE = re.compile(r"\([^()]*\)")  # "(wdc06, wdc07)", "(H200 only)"
REGIONAL = (
    *(name for name, attribute in ATTRIBUTES.items() if attribute.group == "between"),
    "fabric_gbits_per_s_per_gpu",
    "cliff",
)


def regions_of(scope: str, regions: Collection[str]) -> list[str]:
    """Those of the provider's regions that a scope names, by themselves or by a zone of theirs."""
    named = [part.strip() for part in ASIDE.sub("", scope).split(",")]
    found = (max((r for r in regions if _within(name, r)), key=len, default="") for name in named)
    return sorted({region for region in found if region})


def _within(place: str, region: str) -> bool:
    place, region = place.casefold(), region.casefold()
    rest = place.removeprefix(region)
    return place.startswith(region) and bool(re.fullmatch(r"|[a-z]|-[\w‑-]+", rest))


def by_region(facts: Iterable[Fact], regions: Collection[str]) -> dict[str, dict[str, Value]]:
    """By region, the columns of which it is said there what they are, or that differ for it."""
    facts = tuple(facts)
    if not any(fact.scope for fact in facts):
        return {}
    whole = spec(facts).columns()
    found = {}
    for region, said in _said(facts, regions):
        known, names = spec(_there(facts, said)).columns(), {fact.attribute for fact in said}
        found[region] = {
            name: known[name] for name in REGIONAL if name in names or known[name] != whole[name]
        }
    return {region: columns for region, columns in found.items() if columns}


def _said(facts: tuple[Fact, ...], regions: Collection[str]) -> Iterator[tuple[str, list[Fact]]]:
    """By region, the one fact of each attribute that speaks there.

    Of several zones the one that promises most: what can be had in a zone can be had there.
    """
    scoped: dict[str, dict[str, list[Fact]]] = defaultdict(lambda: defaultdict(list))
    for fact in facts:
        for region in regions_of(fact.scope, regions) if fact.scope else ():
            scoped[region][fact.scope].append(replace(fact, scope=""))
    for region, zones in sorted(scoped.items()):
        best: dict[str, Fact] = {}
        for finding in (f for said in zones.values() for f in speaking(said).values()):
            name = finding.fact.attribute
            best[name] = max(best.get(name, finding.fact), finding.fact, key=_promise)
        yield region, list(best.values())


def _promise(fact: Fact) -> tuple[float, str]:
    return promise(fact.value)


def _there(facts: tuple[Fact, ...], said: list[Fact]) -> Iterator[Fact]:
    names = {fact.attribute for fact in said}
    if any(fact.value == MultiNode.NO for fact in said if fact.attribute == "multi_node"):
        names |= set(REGIONAL) - {"software_support"}
    yield from said
    yield from (fact for fact in facts if not fact.scope and fact.attribute not in names)
