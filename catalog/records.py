"""The forms that the catalog accepts: a fact, an offer, and the words both may use.

No Django here: `python -m scrapers parse` speaks these words without a database.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from operator import attrgetter

Value = str | int | float | Decimal | bool | tuple[str, ...] | None


class Basis(StrEnum):
    """How a value is known. The strongest speaks (`catalog.facts`); measurements stand beside."""

    MEASURED = "measured"
    DOCUMENTED = "documented"
    SPEC = "spec"
    STATED = "stated"
    DERIVED = "derived"


class ScaleUp(StrEnum):
    """How the GPUs of one domain are joined."""

    NVSWITCH = "nvswitch"
    NVLINK_MESH = "nvlink_mesh"
    NVLINK_BRIDGE = "nvlink_bridge"
    PCIE = "pcie"
    INFINITY_FABRIC_MESH = "infinity_fabric_mesh"
    GAUDI_MESH = "gaudi_mesh"
    NONE = "none"


NVLINK = (ScaleUp.NVSWITCH, ScaleUp.NVLINK_MESH, ScaleUp.NVLINK_BRIDGE)


class FabricKind(StrEnum):
    """What joins instances."""

    INFINIBAND = "infiniband"
    ROCE = "roce"
    EFA = "efa"
    ERDMA = "erdma"
    GPUDIRECT_TCPX = "gpudirect_tcpx"
    GPUDIRECT_TCPXO = "gpudirect_tcpxo"
    OMNI_PATH = "omni_path"
    SLINGSHOT = "slingshot"
    ETHERNET = "ethernet"
    NONE = "none"


class Support(StrEnum):
    """Three states and, as null, a fourth: nobody says."""

    YES = "yes"
    NO = "no"
    CONDITIONAL = "conditional"


class MultiNode(StrEnum):
    """How instances of a type can be had on one fabric."""

    SELF_SERVE = "self_serve"
    RESERVATION = "reservation"
    NO = "no"


class PriceModel(StrEnum):
    """How an offer is sold."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    RESERVED_1M = "reserved_1m"
    RESERVED_1Y = "reserved_1y"
    RESERVED_3Y = "reserved_3y"
    CAPACITY_BLOCK = "capacity_block"
    QUOTE = "quote"


class Gate(StrEnum):
    """Which gate refused a row; the last two, what is no offer or none that a table takes."""

    PRICE_BAND = "price_band"
    PRICE_JUMP = "price_jump"
    PRICE_ORDER = "price_order"
    TWO_PRICES = "two_prices"
    UNKNOWN_GPU = "unknown_gpu"
    FIGURES = "figures"
    UNREADABLE = "unreadable"
    UNFIT = "unfit"


# Begins the note of a fact without a value that keeps rules from filling the gap: the listing
# looked here and could not vouch for what the hardware usually has.
WITHHELD = "withheld"


@dataclass(frozen=True, slots=True)
class Fact:
    """One sourced statement: `subject` has `attribute` = `value`.

    Parameters
    ----------
    subject
        A GPU slug (`h100-sxm5-80gb`), `provider/instance type`, or a fabric's slug.
    attribute
        A name of `catalog.facts.ATTRIBUTES`; its unit is fixed there.
    value
        Already of the attribute's type; None says "looked for, and nobody says".
    basis, source, checked
        How it is known, the address or `github:owner/repo@commit:path` that says it (for a
        derived fact: the rule's name and what it rests on), and the day it was read.
    scope
        Where it holds only in part: a region, a fabric's id, a tier. Empty: everywhere.
    provisional
        The vendor says that it may change.
    """

    subject: str
    attribute: str
    value: Value
    basis: Basis
    source: str
    checked: date
    scope: str = ""
    provisional: bool = False
    note: str = ""


# The price note of a type that is known, and of which no price is: it stands in the list until an
# offer of the type does.
NO_PRICE_FOUND = "no price was found; ask the provider"


# provider, via, instance_type, region, tier, price_model
Identity = tuple[str, str | None, str, str | None, str | None, PriceModel]


@dataclass(frozen=True, slots=True, kw_only=True)
class OfferRecord:
    """One thing that can be rented: a type, in a region, in a tier, under one price model.

    What the listing says of the type itself (GPU, count, links, NICs) is in `facts`; the price is
    here. `provider, via, instance_type, region, tier, price_model` identify it.
    """

    provider: str
    instance_type: str
    price_model: PriceModel
    collected_at: datetime
    source_url: str
    facts: tuple[Fact, ...] = ()
    via: str | None = None
    region: str | None = None
    country: str | None = None
    tier: str | None = None
    available: bool | None = None
    gpu_candidates: tuple[str, ...] = ()
    native_amount: Decimal | None = None  # for one instance and one hour, in native_currency
    native_currency: str | None = None
    usd_per_hour: Decimal | None = None
    usd_rate: Decimal | None = None  # USD for one unit of native_currency
    usd_rate_date: date | None = None
    price_note: str | None = None
    price_includes: str | None = None
    minimum_hours: float | None = None
    warnings: tuple[str, ...] = ()
    where: str = field(default="", compare=False)  # its place in the payload: no part of the offer

    def __getstate__(self) -> tuple[object, ...]:
        """For the pipe from the parser: in half the time of what a dataclass does by itself."""
        return _VALUES(self)

    @property
    def subject(self) -> str:
        """The name its type goes by in the ledger of facts."""
        return f"{self.provider}/{self.instance_type}"

    @property
    def identity(self) -> Identity:
        """What no two offers of one scrape may share."""
        return (
            self.provider,
            self.via,
            self.instance_type,
            self.region,
            self.tier,
            self.price_model,
        )


_VALUES = attrgetter(*(each.name for each in fields(OfferRecord)))


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that was not accepted: why, where in the payload, and the row itself.

    Where a gate doubts an offer: what it is `about` in the provider's own words, the `key` of
    a person's ruling (`catalog.judgement`), and the `identities` of all that the row would sell.
    Of a row that is `nameless`, being no object, nobody can tell which offer it was.
    """

    reason: str
    where: str
    row: str = ""
    gate: Gate = Gate.UNREADABLE
    key: str = ""
    about: str = ""
    identities: tuple[Identity, ...] = field(default=(), compare=False)
    nameless: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Normalised:
    """What one scrape made of one provider's payloads.

    `ignored` counts, by reason, rows that are none of our business or say the same thing again.
    """

    offers: list[OfferRecord] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    ignored: Counter[str] = field(default_factory=Counter)
    partial: str = ""  # why this is not the whole list; then what is missing has not ended

    @property
    def rows(self) -> int:
        """All that was read: nothing is dropped in silence."""
        return len(self.offers) + len(self.rejected) + self.ignored.total()

    def __iter__(self) -> Iterator[OfferRecord | Rejected]:
        yield from self.offers
        yield from self.rejected


# Every key of an offer, in the order that the API, JSON, CSV and `parse` print it (DESIGN 7).
OFFER_KEYS = (
    "provider", "via", "instance_type", "region", "country", "tier", "price_model", "available",
    "gpu", "gpu_candidates", "gpu_vendor", "form_factor", "gpu_count", "gpu_memory_gb",
    "vcpus", "ram_gb",
    "scale_up", "nvlink_generation", "scale_up_gbytes_per_s", "scale_up_pair_gbytes_per_s",
    "scale_up_domain_gpus", "nvlink_domain_gpus", "domain_gpu_memory_gb",
    "fabric", "fabric_generation", "fabric_nics", "fabric_gbits_per_s_per_nic",
    "fabric_gbits_per_s", "fabric_gbits_per_s_per_gpu", "frontend_gbits_per_s",
    "gpudirect", "gpudirect_rdma", "sharp", "multi_node", "max_gpus_on_one_fabric",
    "cliff", "disputed",
    "usd_per_hour", "usd_per_gpu_hour", "native_amount", "native_currency",
    "usd_rate", "usd_rate_date", "price_note", "price_includes", "minimum_hours",
    "collected_at", "stale", "source_url", "warnings",
)  # fmt: skip
