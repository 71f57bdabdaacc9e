"""The REST API: the same filters, rows and estimates as the pages, for scripts.

The doors onto one table each are in `small_lists`; how all of them reply is in `replies`.
"""

import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import get_language
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from catalog import (
    body_schema,
    estimates,
    fabric_list,
    fabric_query,
    instances,
    offers,
    query_words,
    replies,
    schema,
)
from catalog.currency import in_currency
from catalog.fabric_query import FabricQuery
from catalog.filters import OfferQuery, read
from catalog.kept import kept_or_made
from catalog.models import CatalogVersion
from catalog.quality import quality
from catalog.query import Format, Reading
from catalog.records import OFFER_KEYS

# --- Offers -----------------------------------------------------------------------------------


class Offers(APIView):
    """`GET offers/`: what can be rented, by how its GPUs are joined."""

    @extend_schema(**schema.OFFERS)
    def get(self, request: Request) -> HttpResponseBase:
        """List offers.

        An unknown satisfies no filter; `left_out` counts the rows that one kept out, and
        `include_unknown` lets them in. Filters that no offer can pass both are in `contradictions`.
        """
        query = read(request.query_params)
        return replies.unless_known(request, lambda: _written(query, request))


def _written(query: OfferQuery, request: Request) -> HttpResponseBase:
    found = offers.written(query)
    said: dict[str, Any] = replies.neighbours(request, found.next, found.previous)
    if query.format is Format.JSON:
        said |= found.said()
    name = query_words.file_name(query)
    return replies.listed(name, query.format, query.keys, found.rows, said, whole=query.whole)


def nothing_asked(request: Request) -> None:
    """For a door without parameters.

    Raises
    ------
    BadQuery
        Where there are some.
    """
    Reading(request.query_params).finish(())


# --- What is known of fabrics, of one type, and how much in all ------------------------------


class Fabrics(APIView):
    """`GET fabrics/`: N GPUs on one fabric, of at least such a speed, in such a place."""

    @extend_schema(**schema.FABRICS)
    def get(self, request: Request) -> HttpResponseBase:
        """List fabrics: types that can be reserved together on one network.

        An unknown size or speed satisfies no filter; `left_out` counts the fabrics that one kept
        out. Same region is not same fabric: `how` says what puts instances on one.
        """
        query = fabric_query.parse(request.query_params)
        return replies.unless_known(request, lambda: _fabrics(query, request))


def _fabrics(query: FabricQuery, request: Request) -> HttpResponseBase:
    found = fabric_list.find(query)
    said: dict[str, Any] = {
        **replies.neighbours(request, found.next, found.previous),
        "left_out": found.left_out,
        "left_out_by": found.left_out_by,
        "unplaced_types": found.unplaced,
    }
    if query.count:
        said["count"] = found.count
    rows: Iterable[dict[str, Any]] = ({key: row[key] for key in query.fields} for row in found.rows)
    if currency := query.currency:
        said["currency"] = currency.as_json()
        rows = map(currency.beside, rows)
    return replies.listed(
        "fabrics", query.format, query.fields, map(replies.dumped, rows), said, whole=query.whole
    )


class InstanceTypeDetail(APIView):
    """`GET instance-types/{provider}/{name}/`: one type, whole."""

    @extend_schema(**schema.INSTANCE_TYPE)
    def get(self, request: Request, provider: str, name: str) -> HttpResponse:
        """Every fact with its evidence, prices by region, and what is still unknown."""
        reading = Reading(request.query_params)
        currency = reading.one("currency", in_currency())
        reading.finish(())
        found = instances.detail(provider, name)
        if found is None:
            raise Http404(f"The catalog has no {provider}/{name}.")
        if currency:
            found = currency.beside(found) | {"currency": currency.as_json()}
        return replies.json(found)


class Quality(APIView):
    """`GET quality/`: how much is known, how much is doubtful."""

    @extend_schema(**schema.plain_door("quality", "Shares and counts"))
    def get(self, request: Request) -> HttpResponse:
        """Coverage of the interconnect fields, disputes, stale providers, quarantine."""
        nothing_asked(request)
        return replies.json(quality())


# --- Estimates --------------------------------------------------------------------------------


class Workloads(APIView):
    """`GET workloads/`: what can be estimated by name."""

    @extend_schema(**schema.plain_door("workloads", "Every preset"))
    def get(self, request: Request) -> HttpResponse:
        """The presets, each with its source."""
        nothing_asked(request)
        return replies.json({"results": estimates.workloads()})


class Estimates(APIView):
    """`POST estimates/`: clusters ranked for one workload."""

    @extend_schema(**body_schema.DOOR)
    def post(self, request: Request) -> HttpResponse:
        """Rank the clusters that the filter lets through, with breakdown, layout and interval."""
        nothing_asked(request)
        asked = json.dumps(request.data, sort_keys=True)
        answer = _estimated(CatalogVersion.stamp(), get_language(), asked)
        return HttpResponse(answer, content_type=replies.JSON)


@lru_cache(maxsize=16)  # of up to 2 MB
def _estimated(_stamp: str, _language: str | None, asked: str) -> bytes:
    """The answer to a body, as long as catalog, hour and language are the same."""
    body: bytes = kept_or_made(("POST estimates/", asked), lambda: _dumped(asked))
    return body


def _dumped(asked: str) -> bytes:
    question = estimates.asked(json.loads(asked))
    answer = _public(estimates.ranked(question))
    if currency := question.currency:
        answer = currency.beside(answer) | {"currency": currency.as_json()}
    return replies.dumped(answer)


def _public(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer with the keys of an offer that everyone gets, and no more."""
    for each in (*answer["results"], *answer["left_out"]):
        each["offer"] = {key: _whole(each["offer"][key]) for key in OFFER_KEYS}
    return answer


def _whole(value: object) -> object:
    """8.0 GPUs are 8, as everywhere."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
