"""What a comparison comes to, in one sentence or three: who, by how much, and how sure it is."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext, ngettext

from catalog import wording
from catalog.evidence import unknowns
from catalog.templatetags.quantities import day_of, number
from comparisons.changes import SAME, percent
from comparisons.columns import Column
from comparisons.form import Snapshot

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer, and what stands behind it."""

    first: str
    rest: str


def finding(snapshot: Snapshot, columns: list[Column]) -> Finding | None:
    """For the first workload, or of the prices alone; None where nothing can be held together."""
    if len(columns) < 2:
        return None
    if not snapshot["workloads"]:
        return _of_prices(columns)
    ranked = sorted((c for c in columns if 0 in c.results), key=lambda c: c.results[0]["rank"])
    if not ranked:
        return Finding(gettext("None of these can do it."), " ".join(_without(columns)))
    by_price = snapshot["asked"]["objective"] == "usd_per_mtoken"
    dated = _dated([c for c in ranked if c.results[0]["priced"]]) if by_price else ()
    rest = [*_without(columns), *dated, *_doubt(snapshot, ranked), *_unknown(ranked[0])]
    return Finding(_first(snapshot, columns[0], ranked), " ".join(rest))


def _first(snapshot: Snapshot, base: Column, ranked: list[Column]) -> str:
    """The best against the baseline, or against the next best where it is the baseline."""
    best = ranked[0]
    objective = snapshot["asked"]["objective"]
    against = base if base is not best and base in ranked else None
    other = against or next((column for column in ranked if column is not best), None)
    name = best.title
    if other is None:
        return gettext("Only %(name)s can do it.") % {"name": name}
    apart = _apart(objective, best.results[0], other.results[0])
    if apart is None:
        return gettext("%(name)s comes first.") % {"name": name}
    if abs(apart) < 100 * SAME:
        return gettext("%(name)s and %(other)s do it alike.") % {"name": name, "other": other.title}
    said = {"name": name, "n": f"{abs(apart):.0f}", "other": other.title}
    if objective == "time":
        if against:
            return gettext("%(name)s is %(n)s %% faster than the baseline, %(other)s.") % said
        return gettext("%(name)s, the baseline, is %(n)s %% faster than %(other)s.") % said
    if against:
        return (
            gettext("%(name)s does the work for %(n)s %% less than the baseline, %(other)s.") % said
        )
    if base is best:
        return (
            gettext("%(name)s, the baseline, does the work for %(n)s %% less than %(other)s.")
            % said
        )
    return gettext("%(name)s does the work for %(n)s %% less than %(other)s.") % said


def _apart(objective: str, best: Row, other: Row) -> float | None:
    """How much less the best takes, in hundredths of the other's; None where it cannot be said."""
    if objective == "time":
        times = [each["estimate"]["step_time_s"] for each in (best, other)]
        return -(percent(times[1], times[0]) or 0)
    if objective == "efficiency" or not (best["priced"] and other["priced"]):
        return None
    less = percent(other["value"], best["value"])
    return None if less is None or less > 0 else -less


def _without(columns: list[Column]) -> Iterator[str]:
    """What is not offered is no saving: said before anything is held against it."""
    missing = [column.title for column in columns if not column.offered]
    if missing:
        yield gettext("Not offered: %(names)s.") % {"names": gettext(", ").join(missing)}
    unpriced = [
        column.title
        for column in columns
        if column.offered and column.offer["usd_per_hour"] is None
    ]
    if unpriced:
        yield gettext("Price not published: %(names)s.") % {"names": gettext(", ").join(unpriced)}


def _dated(priced: list[Column]) -> Iterator[str]:
    """Prices past their limit of age: they come after the others, however low they are."""
    dated = [column for column in priced if column.offer["outdated"]]
    if dated:
        seen = gettext(", ").join(
            gettext("%(name)s, seen on %(day)s")
            % {"name": column.title, "day": day_of(column.offer["collected_at"])}
            for column in dated
        )
        if len(dated) == len(priced):
            yield gettext("These prices are all dated: %(seen)s.") % {"seen": seen}
        else:
            yield gettext("Dated prices come after fresh ones: %(seen)s.") % {"seen": seen}


def _doubt(snapshot: Snapshot, ranked: list[Column]) -> Iterator[str]:
    """Whose ranges overlap with the first, and the one fact that would settle most."""
    first = ranked[0]
    best = first.results[0]
    doubt = snapshot["workloads"][0]["doubt"] or {}
    if snapshot["asked"]["objective"] == "usd_per_mtoken" and best["priced"]:
        rivals = [
            column.title
            for column in ranked[1:]
            if column.results[0]["priced"]
            and column.offer["outdated"] == first.offer["outdated"]
            and column.results[0]["low"] < best["high"]
        ]
        if rivals:
            yield ngettext(
                "The order is not certain: the range of %(names)s overlaps with that of %(first)s.",
                "The order is not certain: the ranges of %(names)s overlap with that of %(first)s.",
                len(rivals),
            ) % {"names": gettext(", ").join(rivals), "first": first.title}
    if settled := doubt.get("settled_by"):
        yield gettext("What would settle most: ask %(provider)s about %(name)s, “%(fact)s”.") % {
            "provider": _title(snapshot, settled["provider"]),
            "name": settled["instance_type"],
            "fact": wording.title(settled["fact"]),
        }


def _title(snapshot: Snapshot, provider: str) -> str:
    """A provider as people write it."""
    offers = (each["offer"] for each in snapshot["offers"])
    return next((o["provider_title"] for o in offers if o["provider"] == provider), provider)


def _unknown(best: Column) -> Iterator[str]:
    names = unknowns(best.offer)
    if names:
        titles = gettext(", ").join(wording.title(name) for name in names)
        yield ngettext(
            "%(n)s fact about %(name)s is unknown: %(titles)s.",
            "%(n)s facts about %(name)s are unknown: %(titles)s.",
            len(names),
        ) % {"n": number(len(names)), "name": best.title, "titles": titles}


def _of_prices(columns: list[Column]) -> Finding | None:
    """The lowest price of a GPU-hour, fresh ones before dated ones."""
    priced = [c for c in columns if c.offered and c.offer["usd_per_gpu_hour"] is not None]
    if not priced:
        return Finding(gettext("None of these has a price."), " ".join(_without(columns)))

    def dollars(column: Column) -> float:
        return float(column.offer["usd_per_gpu_hour"])

    best = min(priced, key=lambda column: (column.offer["outdated"], dollars(column)))
    base = columns[0]
    rest = " ".join([*_without(columns), *_dated(priced), *_unknown(best)])
    if best is not base and base in priced and dollars(best) < dollars(base):
        less = f"{100 * (1 - dollars(best) / dollars(base)):.0f}"
        said = {"name": best.title, "n": less, "other": base.title}
        text = gettext("%(name)s costs %(n)s %% less per GPU-hour than the baseline, %(other)s.")
        return Finding(text % said, rest)
    text = gettext("%(name)s has the lowest price of a GPU-hour.") % {"name": best.title}
    return Finding(text, rest)
