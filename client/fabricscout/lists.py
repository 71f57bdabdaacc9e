"""The commands onto one list each: offers, fabrics, prices, changes, facts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from itertools import islice
from typing import Any

from fabricscout.changes import Held, held, risen
from fabricscout.client import FabricScout
from fabricscout.command import Answer, Asked, bad
from fabricscout.rows import Rows
from fabricscout.writing import UNKNOWN, Absent, in_some_cases

ROSE = 4  # the exit code of a price that rose
OFFER_COLUMNS = (
    "provider", "instance_type", "region", "tier", "gpu", "gpu_count", "scale_up",
    "nvlink_domain_gpus", "fabric", "fabric_gbits_per_s_per_gpu", "gpudirect_rdma", "price_model",
    "usd_per_gpu_hour", "collected_at", "stale",
)  # fmt: skip
FABRIC_COLUMNS = (
    "provider", "gpu", "technology", "generation", "gbits_per_s_per_gpu", "max_gpus", "multi_node",
    "how", "lowest_on_demand.usd_per_gpu_hour", "lowest_on_demand.collected_at", "source",
    "checked",
)  # fmt: skip
PRICE_COLUMNS = (
    "provider", "instance_type", "region", "tier", "price_model", "usd_per_hour", "valid_from",
    "valid_to", "source_url",
)  # fmt: skip
CHANGE_COLUMNS = (
    "what", "provider", "instance_type", "region", "tier", "price_model", "was_usd_per_gpu_hour",
    "now_usd_per_gpu_hour", "rise", "collected_at", "source_url",
)  # fmt: skip
FACT_COLUMNS = ("attribute", "value", "unit", "basis", "checked", "disputed", "source")


def offers(scout: FabricScout, asked: Asked) -> Answer:
    """What can be rented."""
    return _listed(scout.offers(**asked.page), asked, OFFER_COLUMNS)


def fabrics(scout: FabricScout, asked: Asked) -> Answer:
    """Types that can be reserved together."""
    return _listed(scout.fabrics(**asked.page), asked, FABRIC_COLUMNS)


def prices(scout: FabricScout, asked: Asked) -> Answer:
    """Price periods."""
    return _listed(scout.prices(**asked.page), asked, PRICE_COLUMNS, valid_to="still")


def _listed(rows: Rows[Any], asked: Asked, columns: Sequence[str], **absent: Absent) -> Answer:
    """The rows of a door, as many as are wanted, and what was left out of them."""
    found = list(islice(rows, None if asked.limit is None else asked.limit + 1))
    notes = []
    if asked.own("limit") is None and asked.limit is not None and len(found) > asked.limit:
        notes.append(f"the first {asked.limit} of more; --limit 500 shows more, --csv all.")
    if (count := rows.about.get("count")) is not None:
        notes.append(f"{count} in all.")
    if left_out := rows.about.get("left_out"):
        by = rows.about["left_out_by"]
        said = ", ".join(f"{name} {count}" for name, count in by.items())
        let = f"--include-unknown {','.join(by)} lets them in"
        notes.append(f"{left_out} left out by an unknown ({said}); {let}.")
    if wanted := asked.parameters.get("fields"):
        columns = str(wanted).split(",")
    shown = found[: asked.limit]
    return Answer(shown, columns, absent=absent, about=rows.about, notes=notes)


def changes(scout: FabricScout, asked: Asked) -> Answer:
    """What is new, gone or priced otherwise; or only what rose by more than a share."""
    since, until = _moment(asked.own("since")), asked.own("until")
    limit: str | None = asked.own("fail_if_price_rises")
    most = None if limit is None else _share(limit)
    against = held(scout.offers, since, until, **asked.parameters)
    found, code = against.changes, None
    if most is not None:
        found = [each for each in found if (rise := risen(each)) is not None and rise > most]
        code = ROSE if found else (0 if against.compared else None)
    largest = against.largest_rise
    about = {
        "since": since,
        "until": until,
        "compared": against.compared,
        "largest_rise": None if largest is None else float(largest),
    }
    absent = dict.fromkeys(("was_usd_per_gpu_hour", "now_usd_per_gpu_hour", "rise"), "-")
    notes = [_what_was_held(against, since, until, most)]
    return Answer(found, CHANGE_COLUMNS, absent=absent, about=about, notes=notes, code=code)


def _what_was_held(against: Held, since: str, until: str | None, most: Decimal | None) -> str:
    """Which prices against which, so that "no rise" and "nothing compared" differ."""
    moments = f"{since} and {until or 'now'}"
    if not against.compared:
        return f"nothing was compared: no offer has a price both of {moments}."
    offers = "offer has" if against.compared == 1 else "offers have"
    rise = against.largest_rise
    said = f"the largest rise is {rise:.2%}" if rise else "none rose"
    limit = "" if most is None else f", the limit {float(100 * most):g}%"
    return f"{against.compared} {offers} a price both of {moments}; {said}{limit}."


def _moment(text: str) -> str:
    """`30d` is the day that many days ago; anything else the service reads."""
    days = text.removesuffix("d")
    if days == text or not days.isdecimal() or len(days) > 5:
        return text
    return (datetime.now(UTC).date() - timedelta(days=int(days))).isoformat()


def _share(text: str) -> Decimal:
    """`10%` or `0.1` as a share. A bare 10 is no thousand percent: it is refused."""
    try:
        share = Decimal(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except InvalidOperation:
        share = Decimal(-1)
    if not share.is_finite() or share < 0:
        raise bad("--fail-if-price-rises", f"must be a share like 10% or 0.1, not {text!r}.")
    if share > 1 and not text.endswith("%"):
        raise bad("--fail-if-price-rises", f"{text!r} is above 1: write 10% or 0.1 for a tenth.")
    return share


def facts(scout: FabricScout, asked: Asked) -> Answer:
    """Every attribute of a type, unknown ones too; of a GPU or narrowed, the ledger's lines."""
    subject: str = asked.own("subject")
    provider, slash, name = subject.partition("/")
    if not slash or asked.parameters:
        rows = scout.facts(**{"live": True, **asked.page, "subject": subject})
        found = _listed(rows, asked, FACT_COLUMNS, unit="-", disputed="-", value=_not_said)
        if slash or found.rows:
            return found
        said = f"no GPU is called {subject!r}; a type is PROVIDER/TYPE."
        return replace(found, notes=[said])
    whole = scout.instance(provider, name)
    absent: dict[str, Absent] = {
        "unit": "-", "basis": "-", "checked": "-", "source": "nobody says", "value": _not_said,
    }  # fmt: skip
    return Answer(whole["facts"], FACT_COLUMNS, absent=absent, whole=whole, within="facts")


def _not_said(fact: Mapping[str, Any]) -> str:
    """Why an attribute has no value: known of parts, looked for in its source in vain, unknown."""
    if claims := fact.get("claims"):
        return in_some_cases(len(claims))
    return "not found" if fact["source"] else UNKNOWN
