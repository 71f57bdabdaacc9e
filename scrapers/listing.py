"""The forms of this room: a provider, one answer of its, and its words for one thing on sale.

A `Document` is an answer exactly as it came; `Document.json()` reads it as the work of a stranger.
A `Listing` keeps the provider's own words and units; `scrapers.normalise` makes an offer of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from catalog.records import Basis, PriceModel, Rejected, Value
from scrapers.fields import BadField, Row, Unreadable, read_json

__all__ = [
    "Document",
    "Evidence",
    "Ignored",
    "Listing",
    "MissingKey",
    "Parsed",
    "Partial",
    "Price",
    "Provider",
    "Rejected",
    "Unreadable",
    "key_of",
    "rows_of",
]

HOUR = Decimal(1)
YEAR_HOURS = Decimal(8760)
MONTH_HOURS = Decimal(730)


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """Who sells, and how often we look.

    `source` is the public address of the list itself, `credentials` the names of the environment
    variables that `fetch` reads, `home` the country of its seat (ISO 3166). `max_bytes` bounds one
    answer, `deadline` [s] its coming, `budget` [s] that of all answers of one fetch. In a `market`
    others set the prices, each of their own machines: one says nothing of the next.
    """

    slug: str
    title: str
    homepage: str
    source: str
    refresh: timedelta
    credentials: tuple[str, ...] = ()
    home: str | None = None
    how: str = ""  # it is read, where not by its own API or price list: said on its page
    market: bool = False
    max_bytes: int = 64 * 2**20
    deadline: float = 120.0
    budget: float = 480.0

    def source_of(self, file: Path) -> str:
        """The address that a file stands in for; `{cloud}` in it is the file's or folder's name.

        "lambda.csv" and "lambda/vms.csv" are of Lambda.
        """
        name = file.parent.name if file.stem == "vms" else file.stem
        return self.source.replace("{cloud}", quote(name, safe=""))


class MissingKey(Exception):
    """A provider asks for a key, and its environment variable is empty: skipped, not failed."""


def key_of(provider: Provider, environ: Mapping[str, str]) -> list[str]:
    """The values of a provider's `credentials`, in their order.

    Raises
    ------
    MissingKey
    """
    missing = [name for name in provider.credentials if not environ.get(name)]
    if missing:
        names = " and ".join(missing)
        raise MissingKey(f"{provider.title} is skipped: it needs a key, and {names} is not set.")
    return [environ[name] for name in provider.credentials]


class _Unread:
    """Stands for a body that was not read yet."""


_UNREAD = _Unread()


@dataclass(frozen=True, slots=True)
class Document:
    """One answer, exactly as it came."""

    url: str
    body: bytes
    fetched_at: datetime
    value: object = field(default=_UNREAD, repr=False, compare=False)

    def json(self) -> object:
        """What the body says: floats as Decimal; what is unfit to be read, as `fields.Unfit`.

        Raises
        ------
        Unreadable
            It is no JSON at all: cut short, HTML, nested too deeply, not UTF-8.
        """
        return read_json(self.body) if isinstance(self.value, _Unread) else self.value


def rows_of(document: Document, name: str) -> list[Row]:
    """The list that an answer has under `name`.

    Raises
    ------
    Unreadable
        It has none, or something else stands there.
    """
    page = Row(document.json(), "")
    try:
        found, rows = name in page.fields, page.rows(name)
    except BadField as problem:
        raise Unreadable(f"the answer: {problem}") from None
    if not found:
        raise Unreadable(f'the answer has no "{name}"')
    return rows


@dataclass(frozen=True, slots=True)
class Ignored:
    """A row that is none of our business (Windows, CPU only): counted by its reason, no more."""

    reason: str


@dataclass(frozen=True, slots=True)
class Partial:
    """Said once, anywhere in a list: why it is not the whole of it."""

    reason: str


class Evidence(NamedTuple):
    """How one attribute of a listing is known, where it is not simply the document that says it.

    An empty `source` is the document, an unsaid `checked` its day.
    """

    basis: Basis
    source: str
    checked: date | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Price:
    """`amount` of `currency` for `hours` hours of one instance, or of one GPU."""

    amount: Decimal
    currency: str = "USD"
    hours: Decimal = HOUR
    per_gpu: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A provider's words for one thing on sale. None: the document does not say.

    Parameters
    ----------
    where
        Its place in the document, as in `offers[3]`.
    url, fetched_at
        Of the document that prices it.
    gpu, gpu_count
        The words for one GPU ("H100 SXM"); how many, where 1/6 is a share of one, and 0 a share
        that `gpu_memory` tells.
    gpu_memory, total_gpu_memory, ram
        An amount and its unit as printed: (22888, "MiB").
    price
        None: not published, and `price_note` says why.
    board_gpus
        GPUs of the machine that this is a part of.
    said
        Attributes of `catalog.facts.ATTRIBUTES` that the listing states, in their units. A value
        of None: looked for here, and not said.
    evidence
        By attribute, where another source than the document speaks.
    contradiction
        An equation of the document's own fields that they break, in words.
    """

    where: str
    url: str
    fetched_at: datetime
    instance: str
    price_model: PriceModel
    via: str | None = None
    provider: str | None = None  # an aggregator's word for whose instance it is
    region: str | None = None
    country: str | None = None
    tier: str | None = None
    available: bool | None = None
    gpu: str | None = None
    gpu_count: Decimal | None = None
    gpu_memory: tuple[Decimal, str] | None = None
    total_gpu_memory: tuple[Decimal, str] | None = None
    vcpus: Decimal | None = None
    ram: tuple[Decimal, str] | None = None
    price: Price | None = None
    price_note: str | None = None
    price_includes: str | None = None
    minimum_hours: float | None = None
    board_gpus: int | None = None
    said: Mapping[str, Value] = field(default_factory=dict)
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    contradiction: str | None = None
    warnings: tuple[str, ...] = ()
    row: Row | str = ""  # the row itself, to be shown if it goes to the quarantine

    @property
    def of_its_type(self) -> tuple[object, ...]:
        """All that it says of its instance type: the same in every region and price model."""
        return (
            self.provider, self.via, self.instance, self.url, self.fetched_at, self.gpu,
            self.gpu_count, self.gpu_memory, self.total_gpu_memory, self.vcpus, self.ram,
            self.board_gpus, self.contradiction,
            tuple(self.said.items()), tuple(self.evidence.items()),
        )  # fmt: skip

    @property
    def shown(self) -> str:
        """The row as text, cut short."""
        return self.row.shown if isinstance(self.row, Row) else self.row


Parsed = Iterator[Listing | Rejected | Ignored | Partial]
