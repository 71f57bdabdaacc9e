"""InfiniBand or Ethernet for a workload: the page, and the same for scripts."""

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from catalog import networks, query, questions, replies, schema
from catalog.citations import cited
from catalog.currency import Currency, Money, in_currency
from catalog.models import Workload
from catalog.page_money import header
from catalog.presets import state
from catalog.query import BadQuery

EXAMPLE = "llama3-70b-pretrain"
_COUNT = f"(?:[1-9][0-9]{{0,4}}|{questions.MOST_GPUS})"
PARAMETERS = ("workload", "gpus", "provider", "instance_type")


def network_title(name: str) -> str:
    """A network in words."""
    return {
        "infiniband": "InfiniBand",
        "roce_adaptive": gettext("Ethernet, RoCE with adaptive routing"),
        "roce": gettext("Ethernet, RoCE with hashed paths"),
        "ethernet": gettext("Ethernet, TCP without RDMA"),
    }.get(name, name)


@require_safe
def network(request: HttpRequest, slug: str) -> HttpResponse:
    """At 1,000 and 10,000 GPUs, or as many as the address asks for."""
    workload = Workload.objects.filter(slug=slug).first()
    if workload is None:
        raise Http404
    problems: dict[str, list[str]] = {}
    try:
        answer, currency = _answer(request.GET, slug)
    except BadQuery as bad:
        problems, answer, currency = bad.fields, networks.answer(slug), None
    money = Money(currency)
    rows = [
        {
            **each,
            "title": network_title(each["network"]),
            "worth": money.amount(each.get("infiniband_is_worth_usd_per_gpu_hour")),
        }
        for each in answer["results"]
    ]
    context = {
        "room": "workloads",
        "workload": workload,
        "answer": answer,
        "rows": rows,
        "axes": [(each["axis"], each["said"], cited(each["source"])) for each in answer["axes"]],
        **header(request.path, state(request.GET), money),
        "given": {name: request.GET.get(name, "") for name in PARAMETERS},
        "problems": [(name, " ".join(said)) for name, said in problems.items()],
    }
    return render(request, "catalog/network.html", context, status=400 if problems else 200)


def _answer(given: QueryDict, slug: str) -> tuple[dict[str, Any], Currency | None]:
    """What is asked, and the money that it is asked in besides the dollar."""
    reading = query.Reading(given)
    reading.one("workload", query.name)
    text = ",".join(reading.many("gpus", query.name)) or ",".join(map(str, networks.USUAL))
    provider, name = (reading.one(each, query.name) or "" for each in ("provider", "instance_type"))
    currency = reading.one("currency", in_currency())
    reading.finish(())
    return networks.answer(slug, networks.counts_of(text), provider, name), currency


class Networks(APIView):
    """`GET networks/`: InfiniBand against Ethernet for a preset workload."""

    @extend_schema(
        **schema.plain_door(
            "networks",
            "Each network at each count, and the stated axes",
            "There is no such workload, or type",
        ),
        parameters=[
            OpenApiParameter(
                "workload",
                schema.one_of(questions.KINDS),
                required=True,
                description="A preset's slug",
                examples=[OpenApiExample(EXAMPLE, EXAMPLE)],
            ),
            OpenApiParameter(
                "gpus",
                {
                    "type": "string",
                    "pattern": f"^{_COUNT}(,{_COUNT}){{0,{networks.MOST_COUNTS - 1}}}$",
                },
                description="Counts by commas; 1000,10000 if absent",
            ),
            OpenApiParameter("provider", str, description="With `instance_type`: whose GPUs"),
            OpenApiParameter(
                "instance_type", schema.kind_of(query.words), description="With `provider`"
            ),
            schema.CURRENCY,
        ],
    )
    def get(self, request: Request) -> HttpResponse:
        """Step time on InfiniBand, on RoCE with and without adaptive routing, and on TCP.

        `infiniband_is_worth_share` is how much more a GPU-hour on InfiniBand may cost than on that
        network before both cost the same for a unit of work; `decided` is false where the model
        cannot tell the two apart. Lock-in, existing Ethernet and power stand as stated, each with
        its source.
        """
        slug = query.Reading(request.query_params).one("workload", query.name)
        if not slug:
            raise BadQuery({"workload": ["must be given."]})
        answer, currency = _answer(request.query_params, slug)
        if currency:
            answer = currency.beside(answer) | {"currency": currency.as_json()}
        return replies.json(answer)
