"""The facts of one instance type as its page shows them: value, how we know, source, when.

Each claim of a dispute is a row of its own, and so are weaker claims and what is said of a part
alone (a region, a tier); what nobody says is a row too, with where was looked.
What cannot be asked of a type (the NVLink generation of a PCIe card) is not unknown: it is left
out of the questions.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.utils.translation import gettext, ngettext, pgettext
from django.utils.translation import gettext_lazy as _

from catalog import phrases, wording
from catalog.applies import arises
from catalog.citations import Citation, citations
from catalog.facts import ATTRIBUTES
from catalog.freshness import FACTS
from catalog.templatetags.quantities import day_of, is_number, number, today

GROUPS = {
    "inside": _("Inside the instance"),
    "between": _("Between instances"),
    "frontend": _("Other networks"),
    "measured": _("Measured by somebody"),
    "gpu": _("The instance"),
}
MEASURED = {name for name, attribute in ATTRIBUTES.items() if attribute.group == "measured"}
# What only few sources ever state: shown where known, never asked for.
SELDOM = MEASURED | {"software_support", "frontend_burst_gbits_per_s", "adaptive_routing",
                     "scale_up_domain_guaranteed_gpus"}  # fmt: skip
ASKED = [name for name, attribute in ATTRIBUTES.items()
         if attribute.column and attribute.group in GROUPS and name not in SELDOM]  # fmt: skip
COUNTED = {"GPUs", "NICs", "CPUs"}
SMALL_PRINT = {
    "frontend_gbits_per_s": _("not the fabric; never added to it"),
    "frontend_burst_gbits_per_s": _("not guaranteed; never fed to the model"),
}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table of facts."""

    title: str
    value: str | None  # None: unknown
    small: str
    basis: str | None
    sources: tuple[Citation, ...]
    checked: date | None
    old: bool = False
    disputed: bool = False
    applies: bool = True
    looked: tuple[Citation, ...] = ()


def groups(detail: Mapping[str, Any]) -> list[tuple[str, list[Line]]]:
    """The facts by group, in the order of GROUPS; groups without a row left out."""
    found: dict[str, list[Line]] = {name: [] for name in GROUPS}
    for fact in detail["facts"]:
        if fact["group"] in found:
            found[fact["group"]] += lines(fact, detail)
        if fact["attribute"] == "fabric_gbits_per_s":
            found["between"] += _per_gpu(fact, detail)
    return [(str(GROUPS[name]), rows) for name, rows in found.items() if rows]


def unknowns(kind: Mapping[str, Any]) -> list[str]:
    """The facts that could be asked of a type, or of an offer of it, and that nobody says."""
    return [name for name in ASKED if name in kind and kind[name] is None and arises(name, kind)]


def in_some_cases(said: Mapping[str, Any]) -> str:
    """What stands for a null that has claims of parts alone (a region, a size); empty of others."""
    claims = [c for c in said.get("claims") or () if c.get("value") is not None]
    if said.get("value") is not None or not claims:
        return ""
    words = ngettext("in some cases (%(n)s claim)", "in some cases (%(n)s claims)", len(claims))
    return words % {"n": number(len(claims))}


def old_lines(grouped: Iterable[tuple[str, list[Line]]]) -> int:
    """How many facts were last checked too long ago."""
    return sum(line.old for _name, lines in grouped for line in lines)


def lines(fact: Mapping[str, Any], detail: Mapping[str, Any]) -> Iterator[Line]:
    """The rows of one attribute: what speaks, or each claim of a dispute; then all other claims."""
    yield from _speaking(fact, detail)
    yield from _others(fact)


def _speaking(fact: Mapping[str, Any], detail: Mapping[str, Any]) -> Iterator[Line]:
    name, title = fact["attribute"], wording.title(fact["attribute"])
    applies = arises(name, detail)
    if fact["value"] is None:
        said_of_a_part = any(claim["scope"] for claim in fact["claims"])
        if name in SELDOM or (said_of_a_part and not applies):
            return
        looked = tuple(each for claim in fact["looked"] for each in citations(claim["source"]))
        day = max((day_of(claim["checked"]) or date.min for claim in fact["looked"]), default=None)
        yield Line(title, None, "", None, (), day, applies=applies, looked=looked)
    elif fact["disputed"]:
        yield from _claims(fact, title)
    else:
        small = str(SMALL_PRINT.get(name, "")) or phrases.said(fact.get("note", ""))
        if fact.get("provisional"):
            small = gettext("; ").join(
                filter(None, (gettext("the vendor says that it may change"), small))
            )
        yield _line(fact, title, value_text(name, fact["value"], fact["unit"]), small)


def _per_gpu(fact: Mapping[str, Any], detail: Mapping[str, Any]) -> Iterator[Line]:
    """What the fabric is for one GPU: arithmetic on the line above it."""
    share = detail["fabric_gbits_per_s_per_gpu"]
    if share is None or fact["value"] is None:
        return
    value = f"{number(share)} Gb/s = {number(share / 8)} GB/s"
    small = f"{number(fact['value'])} ÷ {number(detail['gpu_count'])}"
    rule = ((gettext("rule: instance ÷ GPUs"), ""),)
    yield Line(wording.title("fabric_gbits_per_s_per_gpu"), value, small, "derived", rule,
               day_of(fact["checked"]))  # fmt: skip


def _claims(fact: Mapping[str, Any], title: str) -> Iterator[Line]:
    """Those of the strongest basis, which disagree; the model takes the lower."""
    peers = [c for c in fact["claims"] if c["basis"] == fact["basis"] and not c["scope"]]
    used = value_text(fact["attribute"], fact["value"], fact["unit"])
    small = gettext("sources disagree; estimates use %(used)s") % {"used": used}
    for place, claim in enumerate(peers, 1):
        which = gettext("%(title)s, claim %(n)d of %(all)d") % {
            "title": title, "n": place, "all": len(peers),
        }  # fmt: skip
        value = value_text(fact["attribute"], claim["value"], fact["unit"])
        yield _line(claim, which, value, small, disputed=True)


def _others(fact: Mapping[str, Any]) -> Iterator[Line]:
    """What is said of a part alone, and claims of a weaker basis: kept, and not in use."""
    for claim in fact["claims"]:
        if claim["scope"]:
            small = gettext("in one case: %(scope)s") % {"scope": phrases.said(claim["scope"])}
        elif fact["value"] is not None and claim["basis"] != fact["basis"]:
            small = gettext("a weaker claim; not used")
        else:
            continue
        small += gettext("; ") + phrases.said(claim["note"]) if claim["note"] else ""
        value = value_text(fact["attribute"], claim["value"], fact["unit"])
        yield _line(claim, wording.title(fact["attribute"]), value, small)


def _line(
    said: Mapping[str, Any], title: str, value: str, small: str, *, disputed: bool = False
) -> Line:
    day = day_of(said["checked"])
    old = day is not None and today() - day > FACTS
    return Line(title, value, small, said["basis"], citations(said["source"]), day, old, disputed)


def value_text(attribute: str, value: object, unit: str) -> str:
    """A value with its unit: this table has one column for all."""
    if is_number(value) and attribute != "fabric_generation":
        if attribute == "oversubscription":
            return f"{number(value)}:1"
        counted = unit if str(value) not in {"1", "1.0"} else unit.removesuffix("s")
        said = pgettext("unit", counted) if unit[-4:] in COUNTED else unit
        return f"{number(value)} {said}".strip()
    if attribute == "gpu":
        return wording.gpu(str(value), memory=True)
    return phrases.said(wording.word(attribute, value))
