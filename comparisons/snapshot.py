"""An answer, whole: every offer that was compared with its price, its facts and their evidence, and
what the cost model said of each. Plain JSON, so that it can be kept, shown, diffed and printed;
`comparisons.form` reads what was kept.

    {"asked", "as_of", "currency", "catalog_version", "catalog_changed_at", "model_version",
     "offers": [{"key", "status", "offer"}],
     "types": {"provider/type": {"facts", "prices"}},
     "workloads": [{"workload", "gpus", "nodes", "objective", "validation", "doubt",
                    "results": [{"key", "rank", "estimate", ...}],
                    "left_out": [{"key", "reason"}]}]}

The estimates are those of `POST estimates/`, through the same functions: there is one physics.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import orjson

from catalog import estimates, offers
from catalog.columnar import Moved
from catalog.currency import Currency
from catalog.filters import OfferQuery, Rows
from catalog.models import CatalogVersion, InstanceType, Price
from catalog.records import OFFER_KEYS, PriceModel
from catalog.replies import dumped
from comparisons.asked import Question
from comparisons.form import COLUMNS, ESTIMATE, FACTS, SAID, Snapshot
from comparisons.picks import Pick, key

Row = Mapping[str, Any]

OFFERED = "offered"
NOT_OFFERED = "not_offered"  # the type is listed, but not there, or not sold so
GONE = "gone"  # nobody lists the type any more
UNRECORDED = "unrecorded"  # of the time asked for, no price of the type is kept: nobody knows
UNHEARD_OF = "unheard_of"  # the catalog has never had such a type
ELSEWHERE = {"offer", "advice", "nccl_tests"}  # of a result: its offer is named by its key
TRIES = 3  # until the catalog stands still while it is read


def take(question: Question, as_of: datetime | None = None) -> Snapshot:
    """The answer now, or at the prices of a time; of one version of the catalog, or the last tried.

    Raises
    ------
    estimates.TooMuch
        Over the cap of one request.
    ValueError
        Where the currency had no rate at that time.
    Moved
        Where it changes faster than it can be ranked.
    """
    for left in reversed(range(TRIES)):
        before, version = CatalogVersion.stamp(), _version()
        try:
            taken = _taken(question, as_of) | version
        except Moved:
            if not left:
                raise
            continue
        if CatalogVersion.stamp() == before:
            break
    return orjson.loads(dumped(taken))  # type: ignore[no-any-return]


def _version() -> dict[str, Any]:
    row = CatalogVersion.objects.first()
    version, changed_at = (row.version, row.changed_at) if row else (0, None)
    return {"catalog_version": version, "catalog_changed_at": changed_at}


def _taken(question: Question, as_of: datetime | None) -> Snapshot:
    query = replace(question.query, as_of=as_of, currency=None)
    currency = question.query.currency and Currency.named(question.query.currency.code, as_of)
    if question.picks:
        entries, types = _picked(question.picks, query)
        numbers = [each["offer"]["offer_id"] for each in entries if each["status"] == OFFERED]
        query = replace(query, rows=Rows.REGION, only={"offer_id": numbers})
    else:
        entries, types = _passing(query)
    keys = {each["offer"]["offer_id"]: each["key"] for each in entries}
    return {
        "asked": question.said,
        "as_of": as_of,
        "currency": currency and currency.as_json(),
        "model_version": estimates.accuracy()["version"],
        "offers": entries,
        "types": types,
        "workloads": [
            _answered(estimates.ranked(replace(asked, query=query)), keys)
            for asked in question.asked
        ],
    }


def _answered(answer: Mapping[str, Any], keys: Mapping[int, str]) -> dict[str, Any]:
    """An answer of the cost model whose offers stand elsewhere, named by their keys.

    Raises
    ------
    Moved
        Where it is of offers that were not listed a moment before.
    """
    if not keys.keys() >= {each["offer"]["offer_id"] for each in _each(answer)}:
        raise Moved
    about = ("workload", "gpus", "nodes", "objective", "validation", "doubt", "assumptions")
    return {name: answer[name] for name in about} | {
        "results": [
            {name: value for name, value in each.items() if name not in ELSEWHERE}
            | {
                "key": keys[each["offer"]["offer_id"]],
                "estimate": {name: each["estimate"].get(name) for name in ESTIMATE},
                "goodput": {"share": each["goodput"]["share"]},
            }
            for each in answer["results"]
        ],
        "left_out": [
            {"key": keys[each["offer"]["offer_id"]], "reason": each["reason"]}
            for each in answer["left_out"]
        ],
    }


def _each(answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield from answer["results"]
    yield from answer["left_out"]


# --- Which offers -----------------------------------------------------------------------------


def _passing(query: OfferQuery) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Every offer that the filter lets through."""
    found = offers.cheapest(query)
    kinds = InstanceType.objects.in_bulk({offer["instance_type_id"] for offer in found})
    by_region = query.rows is Rows.REGION
    entries = [
        _entry(key(offer, by_region=by_region), offer, kinds[offer["instance_type_id"]])
        for offer in found
    ]
    return entries, {str(kind): {"facts": _facts(kind)} for kind in kinds.values()}


def _picked(
    picks: Iterable[Pick], query: OfferQuery
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Each pick as the offer that speaks for it, or as what is known of a type not offered."""
    picks = list(picks)
    wanted = {pick.subject for pick in picks}
    kinds = {
        str(kind): kind
        for kind in InstanceType.objects.select_related("provider").filter(
            provider__in={pick.provider for pick in picks},
            name__in={pick.instance_type for pick in picks},
        )
        if str(kind) in wanted
    }
    of_types = {"instance_type_id": [kind.pk for kind in kinds.values()]}
    found = offers.cheapest(replace(query, only=of_types))
    missing = {kind.pk for kind in kinds.values()} - {row["instance_type_id"] for row in found}
    why = _why(missing, query.as_of)
    entries = []
    for pick in picks:
        kind = kinds.get(pick.subject)
        if kind and (chosen := pick.chosen(found)):
            entries.append(_entry(str(pick), chosen, kind))
        else:
            status = UNHEARD_OF if kind is None else why.get(kind.pk, NOT_OFFERED)
            entries.append(_entry(str(pick), _unlisted(pick, kind), kind, status))
    prices = _prices(found)
    types = {
        name: {"facts": _facts(kind), "prices": prices[kind.pk]} for name, kind in kinds.items()
    }
    return entries, types


def _why(missing: set[int], as_of: datetime | None) -> dict[int, str]:
    """Of types without an offer that passes, whether they are listed elsewhere, or were at all."""
    everywhere = OfferQuery(as_of=as_of, only={"instance_type_id": list(missing)})
    listed = {row["instance_type_id"] for row in offers.cheapest(everywhere)} if missing else set()
    known = set(missing)
    if as_of is not None:
        kept = Price.objects.filter(offer__instance_type__in=missing, valid_from__lte=as_of)
        known = set(kept.values_list("offer__instance_type", flat=True))
    return {
        pk: NOT_OFFERED if pk in listed else GONE if pk in known else UNRECORDED for pk in missing
    }


def _prices(found: Iterable[Row]) -> dict[int, dict[str, Any]]:
    """By type, its offer on demand and its spot offer, as a pick without a tier has them."""
    by_type: dict[int, dict[str, Any]] = defaultdict(dict)
    rows = list(found)
    for model in (PriceModel.ON_DEMAND, PriceModel.SPOT):
        for row in rows:
            pick = Pick(row["provider"], row["instance_type"], str(model))
            if row["price_model"] == model and pick.chosen(rows) is row:
                by_type[row["instance_type_id"]][str(model)] = {
                    name: row[name] for name in OFFER_KEYS if name not in FACTS
                } | {"outdated": row["outdated"]}
    return by_type


def _entry(
    name: str, offer: Row, kind: InstanceType | None, status: str = OFFERED
) -> dict[str, Any]:
    """An offer with all that is known of its type, where it does not know better itself."""
    known = {} if kind is None else {fact: _column(kind, fact) for fact in FACTS}
    row = dict.fromkeys(COLUMNS) | known | {n: v for n, v in offer.items() if n != "evidence"}
    return {"key": name, "status": status, "offer": row}


def _column(kind: InstanceType, name: str) -> Any:
    return kind.gpu_id if name == "gpu" else getattr(kind, name)


def _unlisted(pick: Pick, kind: InstanceType | None) -> dict[str, Any]:
    """What stands where nobody sells: who and what, without a price."""
    said: dict[str, Any] = {
        "provider": pick.provider, "provider_title": pick.provider, "tier": pick.tier,
        "instance_type": pick.instance_type, "price_model": pick.price_model,
        "gpu_candidates": [], "disputed": [], "warnings": [], "stale": False, "outdated": False,
    }  # fmt: skip
    if kind is not None:
        computed = ("nvlink_domain_gpus", "domain_gpu_memory_gb", "fabric_gbits_per_s_per_gpu",
                    "cliff", "gpu_candidates", "disputed", "checked")  # fmt: skip
        said |= {name: getattr(kind, name) for name in computed}
        said["provider_title"] = kind.provider.title
    return said


def _facts(kind: InstanceType) -> dict[str, Any]:
    """What speaks for each attribute of a type; every claim of a dispute, and where none speaks."""
    found = {}
    for name, said in kind.evidence.items():
        if name in FACTS:
            found[name] = {part: said.get(part) for part in SAID}
            if said.get("disputed") or said.get("value") is None:
                found[name]["claims"] = said.get("claims") or []
    return found
