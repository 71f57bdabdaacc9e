"""`measurements/`: a pasted output held against a type, and kept where a user wants it."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.utils.translation import override
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.generics import get_object_or_404
from rest_framework.request import Request

from accounts.access import Door, SignedIn
from accounts.idempotency import idempotent
from accounts.owned import remove
from catalog import nccl, replies
from catalog.query import BadQuery, no_keys
from catalog.schema import ERROR, FAILED
from measurements.keeping import keep, origin
from measurements.models import Measurement
from measurements.pages import may_remove

# Not of spaces alone, and without a NUL, which no body may hold.
_SAID: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "pattern": r"^[^\x00]*[^\s\x00][^\x00]*$",
}
BODY: dict[str, Any] = {
    "type": "object",
    "required": ["provider", "instance_type", "text"],
    "additionalProperties": False,
    "properties": {
        "provider": _SAID,
        "instance_type": _SAID,
        "text": {
            "type": "string",
            "pattern": rf"^[^\x00]*{nccl.A_ROW}[^\x00]*$",
            "description": "What nccl-tests or rccl-tests printed, logs too. Whether its rows are "
            "of a run that the type can have seen no schema can say",
        },
        "nodes": {"type": ["integer", "null"], "minimum": 1, "maximum": nccl.MOST_NODES},
        "collective": {
            "type": ["string", "null"],
            "enum": ["all_reduce", None],  # the one whose figures tell how many ranks ran
            "description": "Needed where the text does not say. Others are taken with a text whose "
            f"header lists the ranks, which no schema can say: {', '.join(nccl.COLLECTIVES)}",
        },
        "keep": {"type": "boolean", "description": "Keep it as a measured fact; needs a user"},
    },
}
# Of 1 GiB over 16 GPUs in 5 ms: 2 · 15/16 · 2³⁰ B / 5 ms = 402.65 GB/s of bus bandwidth.
EXAMPLE = OpenApiExample(
    "A line of all_reduce_perf",
    {
        "provider": "azure",
        "instance_type": "Standard_ND96isr_H100_v5",
        "nodes": 2,
        "collective": "all_reduce",
        "text": "1073741824 268435456 float sum -1 5000.0 214.75 402.65 0 5000.0 214.75 402.65 0",
    },
    request_only=True,
)

GONE: dict[Any, Any] = FAILED | {
    (404, "application/json"): OpenApiResponse(ERROR, "There is no such run, or not any more"),
}


class Measurements(Door):
    """`POST measurements/`: what a run of nccl-tests says of a cluster."""

    @extend_schema(
        operation_id="check_measurement",
        request={"application/json": BODY},
        examples=[EXAMPLE],
        responses={
            (200, "application/json"): OpenApiResponse({"type": "object"}, "The verdict"),
            (201, "application/json"): OpenApiResponse({"type": "object"}, "Kept, and the verdict"),
            (403, "application/json"): OpenApiResponse(ERROR, "The token may not write"),
            (404, "application/json"): OpenApiResponse(ERROR, "The catalog has no such type"),
            (409, "application/json"): OpenApiResponse(ERROR, "You keep as many as one may"),
            **FAILED,
        },
    )
    @idempotent
    def post(self, request: Request) -> HttpResponse:
        """Hold a pasted output against line rate, the model's prediction and other measurements.

        The arithmetic of each row is checked; `problems` names the lines that do not add up. With
        `keep` it becomes a measured fact of the type, with its raw text, which everyone can read.
        """
        given = _read(request.data)
        wants = given.pop("keep", False)
        if wants and not SignedIn().has_permission(request, self):
            raise NotAuthenticated
        checked = nccl.check(
            given["provider"], given["instance_type"], given["text"], given.get("nodes"),
            given.get("collective"),
        )  # fmt: skip
        answer = checked.as_json()
        if not wants:
            return replies.json(answer)
        with override("en"):  # what it refuses
            kept = keep(cast("User", request.user), checked, given["text"])
        response = replies.json({"id": kept.pk, "fact": origin(kept.pk)} | answer)
        response.status_code = 201
        return response


class OneMeasurement(Door):
    """`GET` and `DELETE measurements/{id}/`: a run that is kept."""

    @extend_schema(
        operation_id="measurement",
        responses={
            (200, "application/json"): OpenApiResponse({"type": "object"}, "As kept"),
            **GONE,
        },
    )
    def get(self, request: Request, pk: int) -> HttpResponse:  # noqa: ARG002 -- DRF's
        """A kept run with its raw text. Who measured it is not said."""
        found = get_object_or_404(Measurement.objects.select_related("instance_type"), pk=pk)
        return replies.json(
            {
                "id": found.pk,
                "provider": found.instance_type.provider_id,
                "instance_type": found.instance_type.name,
                "collective": found.kind,
                "gpus": found.gpus,
                "nodes": found.nodes,
                "bytes": found.size,
                "bus_gbytes_per_s": found.bus_gbytes_per_s,
                "kept_at": found.kept_at,
                "basis": "measured",
                "verified": False,
                "text": found.text,
            }
        )

    @extend_schema(
        operation_id="remove_measurement",
        responses={
            204: OpenApiResponse(description="It is gone, and its fact withdrawn"),
            (403, "application/json"): OpenApiResponse(ERROR, "It is another's"),
            **GONE,
        },
    )
    def delete(self, request: Request, pk: int) -> HttpResponse:
        """Remove a run of one's own: its fact is withdrawn."""
        found = get_object_or_404(Measurement, pk=pk)
        if not SignedIn().has_permission(request, self):
            raise NotAuthenticated
        if not may_remove(request.user, found):
            raise PermissionDenied("This was measured by another user.")
        if not remove(Measurement.objects.filter(pk=pk)):
            raise Http404
        return HttpResponse(status=204)


def _read(body: object) -> dict[str, Any]:
    """The body, checked.

    Raises
    ------
    BadQuery
        Naming every field that is wrong.
    """
    if not isinstance(body, dict):
        raise BadQuery({"body": ["must be a JSON object."]})
    wrong = no_keys(body, BODY["properties"])
    for name in BODY["required"]:
        if not isinstance(body.get(name), str) or not body[name].strip():
            wrong[name] = ["must be a text that is not empty."]
    nodes = body.get("nodes")
    if isinstance(nodes, float) and nodes.is_integer():
        nodes = int(nodes)  # to JSON 8.0 is a whole number
    whole = isinstance(nodes, int) and not isinstance(nodes, bool)
    if nodes is not None and not (whole and 1 <= nodes <= nccl.MOST_NODES):
        wrong["nodes"] = [f"must be a whole number from 1 to {nccl.MOST_NODES}."]
    if body.get("collective") not in (None, *nccl.COLLECTIVES):
        wrong["collective"] = [f"must be one of: {', '.join(nccl.COLLECTIVES)}."]
    if not isinstance(body.get("keep", False), bool):
        wrong["keep"] = ["must be true or false."]
    if wrong:
        raise BadQuery(wrong)
    return {**body, "nodes": nodes}
