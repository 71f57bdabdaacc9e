"""The doors onto one table each: instance types, GPUs, providers, facts and prices.

Every list is narrowed, sorted, paged and written the same way; a door says only which rows it has
and which parameters narrow them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.db.models import Max, Model, QuerySet
from django.http.response import HttpResponseBase
from django.utils import translation
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.request import Request
from rest_framework.serializers import Serializer
from rest_framework.views import APIView

from catalog import replies, schema
from catalog.currency import Currency, in_currency
from catalog.facts import ATTRIBUTES
from catalog.filters import FILTERS, field_of
from catalog.models import Fact, Gpu, InstanceType, Price, Provider
from catalog.paging import Cursor, step
from catalog.query import (
    Format,
    Reading,
    country,
    gpu,
    moment,
    name,
    one_of,
    provider,
    slug,
    truth,
    words_of_a_cursor,
)
from catalog.records import Basis, PriceModel
from catalog.serializers import (
    FactSerializer,
    GpuSerializer,
    InstanceTypeSerializer,
    PriceSerializer,
    ProviderSerializer,
)
from catalog.sources import Source, sources


@dataclass(frozen=True, slots=True)
class Narrow:
    """One parameter of a list: the lookup that it makes, how its text is read, what it says."""

    lookup: str
    read: Callable[[str], object]
    title: str
    many: bool = True


class SmallList(APIView):
    """Rows of one table, as its serializer has them."""

    door: ClassVar[str]
    queryset: ClassVar[QuerySet[Any]]
    serializer: ClassVar[type[Serializer[Any]]]
    narrows: ClassVar[Mapping[str, Narrow]] = {}
    example: ClassVar[Mapping[str, str]] = {}  # a question worth asking
    sorts: ClassVar[Mapping[str, str]] = {}  # what it can be sorted by → where that stands
    usual: ClassVar[Sequence[tuple[str, bool]]] = ()  # the order where none is asked for
    shows_claims: ClassVar[bool] = False  # whether claims that fill no column are in its rows
    tagged: ClassVar[bool] = True  # whether its reader may ask whether anything has changed
    also_answers: ClassVar[Mapping[Any, Any]] = {}  # of the schema, besides what every list answers
    in_money: ClassVar[bool] = False  # whether its rows can be told in another currency

    def get(self, request: Request) -> HttpResponseBase:
        """A page of the list."""
        if not self.tagged:
            return self._reply(request)
        also = _ledger() if self.shows_claims else ""
        return replies.unless_known(request, lambda: self._reply(request), also)

    def _reply(self, request: Request) -> HttpResponseBase:
        reading = Reading(request.query_params)
        rows = self._narrowed(reading)
        keys = tuple(self.serializer().fields)
        currency = reading.one("currency", in_currency()) if self.in_money else None
        shown = reading.many("fields", field_of(keys, currency)) or keys
        form = reading.one("format", one_of(Format)) or Format.JSON
        sort = [(self.sorts[name], down) for name, down in reading.sort(self.sorts) or self.usual]
        whole = reading.asks_for_all()
        size = None if whole else reading.page_size()
        cursor = reading.one("cursor", words_of_a_cursor) or ""
        counted = reading.one("count", truth)
        reading.finish(())
        identity = f"{self.door} {reading.asked(but=FORM)}"
        page = step(rows, sort, Cursor.read(cursor, identity), size)
        cursors = (at.write(identity) if at else None for at in (page.next, page.previous))
        said: dict[str, Any] = replies.neighbours(request, *cursors)
        if counted:
            said["count"] = rows.count()
        if currency:
            said["currency"] = currency.as_json()
            shown += currency.keys_beside(keys)
        written = self._written(page.rows, currency)
        chosen = (replies.dumped({key: row[key] for key in shown}) for row in written)
        return replies.listed(self.door, form, shown, chosen, said, whole=whole)

    def _written(self, rows: Iterable[Any], currency: Currency | None) -> Iterator[dict[str, Any]]:
        """The rows as the serializer writes them, and what they cost in another currency."""
        serializer = self.serializer()
        for row in self._told(rows):
            written = serializer.to_representation(row)
            yield currency.beside(written) if currency else written

    def _told(self, rows: Iterable[Any]) -> Iterable[Any]:
        """What the serializer writes of these rows."""
        return rows

    def _narrowed(self, reading: Reading) -> QuerySet[Model]:
        rows = self.queryset.all()
        for parameter, narrow in self.narrows.items():
            if narrow.many:
                if values := reading.many(parameter, narrow.read):
                    rows = rows.filter(**{f"{narrow.lookup}__in": values})
            elif (value := reading.one(parameter, narrow.read)) is not None:
                rows = rows.filter(**{narrow.lookup: value})
        return rows


def _ledger() -> str:
    """What changes when a user's measurement is kept or withdrawn, as no version of the catalog."""
    newest = Fact.objects.aggregate(said=Max("id"), withdrawn=Max("superseded_at"))
    return f"|{newest['said']}|{newest['withdrawn']}"


FORM = (
    "cursor",
    "page_size",
    "fields",
    "format",
    "count",
    "currency",
)  # how a list is shown, not which


def documented(door: type[SmallList]) -> type[SmallList]:
    """The door, with its parameters and its page in the OpenAPI schema."""
    narrows = [
        schema.parameter(
            name,
            schema.kind_of(narrow.read),
            narrow.title,
            many=narrow.many,
            example=door.example.get(name),
        )
        for name, narrow in door.narrows.items()
    ]
    says = (door.__doc__ or "").partition(": ")[2]
    says = says[:1].upper() + says[1:]
    said = schema.small_list(
        door.door, says, door.serializer, narrows, door.sorts, in_money=door.in_money
    )
    said["responses"] |= door.also_answers
    if not door.tagged:
        del said["responses"][304]
    return extend_schema_view(get=extend_schema(**said))(door)


@documented
class InstanceTypes(SmallList):
    """`GET instance-types/`: what is known of each type, with its evidence."""

    door = "instance-types"
    shows_claims = True
    example: ClassVar = {"gpu": "h100-sxm5-80gb"}
    queryset: ClassVar = InstanceType.objects.all()
    serializer: ClassVar = InstanceTypeSerializer
    narrows: ClassVar = {
        "provider": Narrow("provider", provider, "Provider"),
        "gpu": Narrow("gpu", gpu, "GPU"),
        "name": Narrow("name", name, "The provider's own name of the type"),
    }
    sorts: ClassVar = {
        each: each
        for each in (
            "provider", "gpu", "gpu_count", "scale_up_domain_gpus", "scale_up_gbytes_per_s",
            "fabric_gbits_per_s_per_gpu", "cliff", "checked",
        )
    } | {"instance_type": "name"}  # fmt: skip


@documented
class Gpus(SmallList):
    """`GET gpus/`: every SKU, its peaks dense and its links one way."""

    door = "gpus"
    example: ClassVar = {"gpu_vendor": "amd"}
    queryset: ClassVar = Gpu.objects.all()
    serializer: ClassVar = GpuSerializer
    narrows: ClassVar = {
        each: Narrow(each, FILTERS[each].read, FILTERS[each].title)
        for each in ("gpu_vendor", "form_factor")
    }
    sorts: ClassVar = {
        each: each
        for each in (
            "slug", "gpu_memory_gb", "scale_up_gbytes_per_s", "memory_gbytes_per_s", "bf16_tflops",
            "fp8_tflops",
        )
    }  # fmt: skip


@documented
class Providers(SmallList):
    """`GET providers/`: who rents, how its list is read, and how that goes."""

    door = "providers"
    tagged = False  # a fetch that fails changes a state, and no version of the catalog
    queryset: ClassVar = Provider.objects.all()
    serializer: ClassVar = ProviderSerializer
    narrows: ClassVar = {"country": Narrow("country", country, "Its seat, two letters")}
    sorts: ClassVar = {each: each for each in ("slug", "title", "country", "fetched_live_at")}

    def _told(self, rows: Iterable[Provider]) -> list[Source]:
        with translation.override("en"):
            found = {source.provider.pk: source for source in sources()}
        return [found[row.pk] for row in rows]


@documented
class Facts(SmallList):
    """`GET facts/`: every sourced statement, the withdrawn ones too."""

    door = "facts"
    shows_claims = True
    example: ClassVar = {"attribute": "gpudirect_rdma", "basis": "documented"}
    queryset: ClassVar = Fact.objects.all()
    serializer: ClassVar = FactSerializer
    narrows: ClassVar = {
        "subject": Narrow("subject", name, "provider/instance type, or a GPU"),
        "attribute": Narrow("attribute", one_of(ATTRIBUTES), "What is said of it"),
        "basis": Narrow("basis", one_of(Basis), "How it is known"),
        "live": Narrow("superseded_at__isnull", truth, "Speaking, or withdrawn", many=False),
    }
    sorts: ClassVar = {each: each for each in ("subject", "attribute", "checked", "recorded_at")}


@documented
class Prices(SmallList):
    """`GET prices/`: every price period of an offer, while it held."""

    door = "prices"
    example: ClassVar = {"gpu": "h100-sxm5-80gb", "price_model": "on_demand"}
    queryset: ClassVar = Price.objects.select_related("offer__instance_type")
    serializer: ClassVar = PriceSerializer
    in_money: ClassVar = True
    narrows: ClassVar = {
        "provider": Narrow("offer__instance_type__provider", provider, "Provider"),
        "instance_type": Narrow("offer__instance_type__name", name, "The type"),
        "gpu": Narrow("offer__instance_type__gpu", gpu, "GPU"),
        "region": Narrow("offer__region", slug, "Region"),
        "tier": Narrow("offer__tier", slug, "Tier"),
        "price_model": Narrow("offer__price_model", one_of(PriceModel), "Sold as"),
        "since": Narrow("valid_from__gte", moment, "Periods that began then or later", many=False),
    }
    sorts: ClassVar = {each: each for each in ("valid_from", "valid_to", "usd_per_hour")}
