"""The rows of a comparison: what each tells of an offer, how it looks, and which way is better.

A value is None where nobody says, ABSENT where there is nothing to say (it is not offered there,
or the row does not apply). How a fact looks is what the offers page shows (`templatetags.cells`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from django.utils.functional import Promise
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from catalog import phrases, wording
from catalog.applies import arises
from catalog.currency import Money, sign_of
from catalog.evidence import unknowns, value_text
from catalog.facts import ATTRIBUTES
from catalog.records import PriceModel
from catalog.templatetags import cells
from catalog.templatetags.quantities import (
    NOT_APPLICABLE,
    checked,
    disputed_numbers,
    dollars,
    duration,
    either,
    evidence_of,
    marked,
    number,
    old,
    own_price,
    percent,
    price,
    since,
    source_link,
    unknown,
    whole,
)
from comparisons.changes import asked_on, gone
from comparisons.claims import Claim, of_facts, of_price
from comparisons.columns import ABSENT, Column, per
from comparisons.snapshot import NOT_OFFERED

Row = Mapping[str, Any]
Words = str | Promise


@dataclass(frozen=True, slots=True)
class Measure:
    """One row. `better` is low or high; `delta` is a percentage, points, a count, or nothing."""

    title: Words
    unit: Words
    value: Callable[[Column], Any]
    html: Callable[[Column], str]
    better: str = ""
    delta: str = "percent"
    claims: Callable[[Column], Iterable[Claim]] = lambda _column: ()  # that the value rests on
    facts: tuple[str, ...] = ()  # that the value rests on besides

    def resting_on(self, column: Column) -> Iterator[Claim]:
        """Every claim that speaks for the value, or against it."""
        yield from self.claims(column)
        yield from of_facts(column.offer, self.facts)

    def disputed(self, column: Column) -> bool:
        """Whether sources disagree on a fact that the value rests on."""
        return not set(self.facts).isdisjoint(column.offer["disputed"])


@dataclass(frozen=True, slots=True)
class Group:
    """Rows under one heading."""

    title: Words
    measures: tuple[Measure, ...]


def groups(snapshot: Row, columns: Iterable[Column]) -> Iterator[Group]:
    """All rows, in the order in which a reader asks."""
    columns, money = list(columns), Money.of(snapshot.get("currency"))
    for place, answer in enumerate(snapshot["workloads"]):
        rows = [column.results[place] for column in columns if place in column.results]
        measures = _of_workload(place, rows, money)
        resting = _estimated(place, snapshot)
        yield Group(asked_on(answer), tuple(replace(each, claims=resting) for each in measures))
    yield Group(_("Inside the instance"), INSIDE)
    yield Group(_("Between instances"), BETWEEN)
    priced = any(column.prices for column in columns)
    yield Group(_("Price"), tuple(_of_price(money, with_models=priced)))
    yield Group(_("Evidence"), EVIDENCE)


def _estimated(place: int, snapshot: Row) -> Callable[[Column], Iterable[Claim]]:
    """An estimate rests on the cost model, which read the facts of the offer, and on its price."""
    model = gettext("cost model %(version)s") % {"version": snapshot["model_version"]}
    day = str(snapshot["catalog_changed_at"] or "")[:10]

    def claims(column: Column) -> Iterator[Claim]:
        if place in column.results:
            yield Claim(gettext("estimate"), model, model, "derived", day)
            yield from of_price(column.offer)

    return claims


# --- For this workload ------------------------------------------------------------------------


def _of_workload(place: int, rows: list[Row], money: Money) -> Iterator[Measure]:
    def of(read: Callable[[Row], Any]) -> Callable[[Column], Any]:
        return lambda c: read(c.results[place]) if place in c.results else ABSENT

    def shown(write: Callable[[Column, Row], str]) -> Callable[[Column], str]:
        return lambda c: write(c, c.results[place]) if place in c.results else NOT_APPLICABLE

    def estimated(name: str, write: Callable[[Any], str]) -> Callable[[Column], str]:
        def known(_column: Column, row: Row) -> str:
            value = row["estimate"][name]
            return unknown() if value is None else write(value)

        return shown(known)

    def cost(column: Column) -> str:
        row = column.results.get(place)
        if row is None:
            return _left_out(column, place)
        if not row["priced"]:
            return _not_published()
        ends = (money.amount(row[end], column.offer) for end in ("value", "low", "high"))
        value, low, high = map(price, ends)
        return f"{value}<small>{low}–{high}</small>"

    has_tokens = any(row["estimate"]["tokens_per_s_per_gpu"] for row in rows)
    of_work = "usd_per_mtoken" if has_tokens or not rows else "usd_per_step"
    yield Measure(_("Rank"), "", of(lambda r: r["rank"]),
                  shown(lambda _c, r: str(r["rank"])), "low", "")  # fmt: skip
    yield Measure(_("Cost of work"), per(of_work, money.code),
                  of(lambda r: r["value"] if r["priced"] else None), cost, "low")  # fmt: skip
    if has_tokens:
        yield Measure(_("Speed"), _("tokens/s per GPU"),
                      of(lambda r: r["estimate"]["tokens_per_s_per_gpu"]),
                      estimated("tokens_per_s_per_gpu", whole), "high")  # fmt: skip
    # Each is held against its own smallest count, so that no two are held against each other.
    yield Measure(_("Scaling"), "%", of(lambda r: _hundredths(r["estimate"]["scaling_efficiency"])),
                  shown(_scaling), "", "")  # fmt: skip
    yield Measure(_("Step time"), _("where it goes"), of(lambda r: r["estimate"]["step_time_s"]),
                  shown(lambda _c, r: duration(r["estimate"]["step_time_s"])
                        + f"<br>{r['shares']}"), "low")  # fmt: skip
    yield Measure(_("Waiting for the network"), "%", of(lambda r: _hundredths(r["waiting"])),
                  shown(lambda _c, r: percent(r["waiting"])), "low", "points")  # fmt: skip
    per_hour = _("%(money)s / hour") % {"money": sign_of(money.code)}
    yield Measure(_("Lost to waiting and bubble"), per_hour, of(lambda r: r["lost"]),
                  shown(lambda c, r: _not_published() if r["lost"] is None
                        else whole(money.amount(r["lost"], c.offer))), "low")  # fmt: skip
    yield Measure(_("Limited by"), "", of(lambda r: r["estimate"]["limited_by"]),
                  estimated("limited_by", lambda word: escape(phrases.said(word))))  # fmt: skip
    yield Measure(_("Cluster"), _("instances × GPUs"),
                  of(lambda r: (r["nodes"], r["offer"]["gpu_count"])),
                  shown(lambda _c, r: f"{number(r['nodes'])} × {number(r['offer']['gpu_count'])}"
                        f"<small>{escape(r['layout'])}</small>"))  # fmt: skip


def _scaling(_column: Column, row: Row) -> str:
    """In hundredths; over 100 with the reason."""
    value = row["estimate"]["scaling_efficiency"]
    if value is None:
        return unknown()
    if not row["over"]:
        return percent(value)
    why = row["starved"] or gettext(
        "Over 100 %: on the smallest count that holds the job, its memory slows each GPU down."
    )
    return f"{percent(value)}<small>{escape(why)}</small>"


def _left_out(column: Column, place: int) -> str:
    if not column.offered:
        return _na(gone(column.status))
    reason = escape(phrases.said(column.reasons.get(place, "")))
    return f"{_na(gettext('left out'))}<small>{reason}</small>"


def _hundredths(share: float | None) -> float | None:
    return None if share is None else 100 * share


# --- Hardware ---------------------------------------------------------------------------------


def _fact(name: str, unit: Words = "", better: str = "", delta: str = "") -> Measure:
    """A fact as it stands, with the mark of how it is known."""
    return Measure(
        TITLES.get(name, wording.TITLES.get(name, name)), unit or ATTRIBUTES[name].unit,
        _of(name),
        lambda c: _fact_cell(name, c.offer), better, delta, facts=(name,),
    )  # fmt: skip


TITLES: Mapping[str, Words] = {"sharp": "SHARP"}


def _applies(name: str, offer: Row) -> bool:
    return offer[name] is not None or arises(name, offer)


def _fact_cell(name: str, offer: Row) -> str:
    value, said = offer[name], evidence_of(offer, name)
    if value is None:
        return cells.nobody_says(offer, name)
    if values := disputed_numbers(said):
        return either(values)
    is_amount = isinstance(value, int | float) and not isinstance(value, bool)
    text = number(value) if is_amount else escape(value_text(name, value, ""))
    return marked(text, said, after=not is_amount)


def _domain(column: Column) -> Any:
    return column.offer["nvlink_domain_gpus"]


def _of(name: str) -> Callable[[Column], Any]:
    return lambda column: column.offer[name] if _applies(name, column.offer) else ABSENT


def _gpu(column: Column) -> Any:
    offer = column.offer
    return (offer["gpu"], offer["gpu_count"]) if offer["gpu"] else None


def _fabric(column: Column) -> Any:
    offer = column.offer
    if offer["fabric"] is None:
        return None
    return tuple(offer[name] for name in ("fabric", "fabric_generation", "fabric_nics"))


def _cliff(column: Column) -> str:
    offer = column.offer
    if text := cells.cliff_text(offer):
        domain = offer["scale_up_domain_gpus"]
        after = ngettext("after %(n)s GPU", "after %(n)s GPUs", domain or 0)
        after = after % {"n": number(domain)} if domain else ""
        return f"{text}<small>{after}</small>"
    return cells.nobody_says(offer, "cliff")


INSIDE = (
    Measure(_("GPU"), "", _gpu, lambda c: cells.gpu_cell(c.offer),
            facts=("gpu", "gpu_count", "gpu_memory_gb")),
    _fact("scale_up"),
    Measure(_("NVLink domain"), _("GPUs"), _domain, lambda c: cells.domain_cell(c.offer), "high",
            "count", facts=("scale_up_domain_gpus", "scale_up_domain_guaranteed_gpus")),
    Measure(_("Links per GPU, one way"), "GB/s", _of("scale_up_gbytes_per_s"),
            lambda c: cells.inside_cell(c.offer), "high",
            facts=("scale_up_gbytes_per_s", "nvlink_generation")),
)  # fmt: skip
BETWEEN = (
    Measure(_("Fabric"), "", _fabric, lambda c: cells.fabric_cell(c.offer),
            facts=("fabric", "fabric_generation", "fabric_nics",
                            "fabric_gbits_per_s_per_nic")),
    Measure(_("Fabric per GPU, one way"), "Gb/s", _of("fabric_gbits_per_s_per_gpu"),
            lambda c: cells.per_gpu_cell(c.offer), "high",
            facts=("fabric_gbits_per_s", "gpu_count")),
    Measure(_("Cliff"), _("links ÷ fabric"), _of("cliff"), _cliff, "", "",
            facts=("scale_up_gbytes_per_s", "fabric_gbits_per_s", "gpu_count")),
    Measure(_("GPUDirect RDMA"), "", _of("gpudirect_rdma"),
            lambda c: cells.rdma_cell(c.offer), facts=("gpudirect_rdma",)),
    _fact("sharp"),
    _fact("oversubscription", _("n to 1"), "low"),
    _fact("measured_all_reduce_gbytes_per_s", "", "high", "percent"),
    _fact("multi_node"),
    _fact("same_fabric"),
    _fact("max_gpus_on_one_fabric", _("GPUs"), "high", "count"),
)  # fmt: skip


# --- Price ------------------------------------------------------------------------------------


def _of_price(money: Money, *, with_models: bool) -> Iterator[Measure]:
    def own(column: Column, name: str) -> Any:
        return column.offer[name] if column.offered else column.nothing

    def shown(column: Column, name: str) -> str:
        if not column.offered:
            return _na(gone(column.status))
        return _amount(column.offer, name, money) + _where(column.offer)

    def of_model(model: PriceModel) -> Measure:
        def value(column: Column) -> Any:
            row = column.prices.get(model)
            return row["usd_per_gpu_hour"] if row else column.nothing

        def html(column: Column) -> str:
            if row := column.prices.get(model):
                return _amount(row, "usd_per_gpu_hour", money) + _place(row)
            return _na(gone(NOT_OFFERED if column.offered else column.status))

        def claims(column: Column) -> Iterator[Claim]:
            return of_price(column.prices[model]) if model in column.prices else iter(())

        title = wording.word("price_model", model)
        title = title[:1].upper() + title[1:]
        return Measure(title, per_gpu_hour, value, html, "low", claims=claims)

    per_gpu_hour = per("usd_per_gpu_hour", money.code)
    yield Measure(_("This offer"), per_gpu_hour, lambda c: own(c, "usd_per_gpu_hour"),
                  lambda c: shown(c, "usd_per_gpu_hour"), "low", claims=_own_price)  # fmt: skip
    yield Measure(_("The instance"), _("%(money)s per hour") % {"money": sign_of(money.code)},
                  lambda c: own(c, "usd_per_hour"),
                  lambda c: _amount(c.offer, "usd_per_hour", money) + cells.terms(c.offer, money)
                  if c.offered else _na(gone(c.status)), "low", claims=_own_price)  # fmt: skip
    if with_models:
        yield of_model(PriceModel.ON_DEMAND)
        yield of_model(PriceModel.SPOT)
    yield Measure(_("What it is for"), "", lambda c: c.offer["price_includes"] or ABSENT,
                  lambda c: escape(phrases.said(c.offer["price_includes"] or "")) or NOT_APPLICABLE,
                  claims=lambda c: _own_price(c) if c.offer["price_includes"] else ())  # fmt: skip


def _own_price(column: Column) -> Iterator[Claim]:
    return of_price(column.offer) if column.offered else iter(())


def _amount(offer: Row, name: str, money: Money) -> str:
    """A price; what the provider says where it publishes none."""
    if offer[name] is not None:
        return dollars(money.amount(offer[name], offer), money.code)
    if offer["native_amount"] is not None:
        return own_price(offer)
    note = phrases.said(offer["price_note"] or "")
    return _not_published() + (f"<small>{escape(note)}</small>" if note else "")


def _where(offer: Row) -> str:
    """How it is sold, and where."""
    said = (wording.word("price_model", offer["price_model"]), offer["region"], offer["tier"])
    via = gettext("via %(via)s") % {"via": offer["via"]} if offer["via"] else ""
    return (
        f"<small>{gettext(', ').join(escape(str(each)) for each in (*said, via) if each)}</small>"
    )


def _place(offer: Row) -> str:
    return f"<small>{escape(offer['region'] or '')}</small>"


def _not_published() -> str:
    return _na(gettext("not published"))


def _na(text: str) -> str:
    return f'<span class="na">{text}</span>'


# --- Evidence ---------------------------------------------------------------------------------

FACTS = ("gpu", "gpu_count", "scale_up", "scale_up_domain_gpus", "scale_up_gbytes_per_s",
         "fabric", "fabric_nics", "fabric_gbits_per_s", "gpudirect_rdma", "sharp",
         "oversubscription", "measured_all_reduce_gbytes_per_s", "multi_node", "same_fabric",
         "max_gpus_on_one_fabric")  # fmt: skip


def _priced(column: Column) -> bool:
    """Whether there is a price at all: one that is not published was seen nowhere."""
    return column.offered and column.offer["native_amount"] is not None


def _seen(column: Column) -> str:
    offer = column.offer
    if not _priced(column):
        return NOT_APPLICABLE
    dated = offer["stale"] or offer["outdated"]
    return old(offer["collected_at"]) if dated else since(offer["collected_at"])


def _listed(names: Iterable[str]) -> str:
    text = gettext(", ").join(wording.title(name) for name in names)
    return f"<small>{escape(text)}</small>" if text else ""


EVIDENCE = (
    Measure(_("Price seen"), "",
            lambda c: str(c.offer["collected_at"])[:10] if _priced(c) else ABSENT, _seen),
    Measure(_("Source of the price"), "",
            lambda c: c.offer["source_url"] if _priced(c) else ABSENT,
            lambda c: source_link(c.offer["source_url"]) if _priced(c) else NOT_APPLICABLE,
            claims=_own_price),
    Measure(_("Interconnect facts checked, the oldest"), "", lambda c: str(c.offer["checked"]),
            lambda c: checked(c.offer["checked"]) if c.offer["checked"] else NOT_APPLICABLE),
    Measure(_("Facts unknown"), "", lambda c: len(unknowns(c.offer)),
            lambda c: f"{len(unknowns(c.offer))}{_listed(unknowns(c.offer))}", "low", ""),
    Measure(_("Facts disputed"), "", lambda c: len(c.offer["disputed"]),
            lambda c: f"{len(c.offer['disputed'])}{_listed(c.offer['disputed'])}", "low", ""),
)  # fmt: skip
