"""An offer as a text that a person can read and an address can carry:
`provider/instance type`, then `;price model`, then `;tier`.

A pick without a price model is sold on demand, or else as it is; one without a tier is of any.
The same text names a row in a run, so two runs are compared row by row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.query import slug
from catalog.records import PriceModel

LONGEST = 600  # characters
FORM = "must read provider/instance type, then ;price model and ;tier where they matter."
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Pick:
    """One offer that somebody chose."""

    provider: str
    instance_type: str
    price_model: str | None = None
    tier: str | None = None

    @classmethod
    def read(cls, text: str) -> "Pick":
        """The pick of a text. An instance type may hold a semicolon: the price model ends it.

        Raises
        ------
        ValueError
            Saying what it must be.
        """
        provider, slash, rest = text.partition("/")
        if not slash or not rest or len(text) > LONGEST or not text.isprintable():
            raise ValueError(FORM)
        slug(provider)
        parts = rest.split(";")
        models = (n for n, part in enumerate(parts) if n and part in list(PriceModel))
        end = next(models, len(parts))
        model = parts[end] if end < len(parts) else None
        return cls(provider, ";".join(parts[:end]), model, ";".join(parts[end + 1 :]) or None)

    @classmethod
    def of(cls, offer: Row) -> "Pick":
        """The pick that names an offer."""
        keys = ("provider", "instance_type", "price_model", "tier")
        return cls(*(offer[key] for key in keys))

    def __str__(self) -> str:
        parts = [f"{self.provider}/{self.instance_type}", self.price_model, self.tier]
        return ";".join(part for part in parts if part)

    @property
    def subject(self) -> str:
        """The name that its type goes by in the ledger of facts."""
        return f"{self.provider}/{self.instance_type}"

    def means(self, offer: Row) -> bool:
        """Whether an offer is of this type, price model and tier."""
        return (
            (self.provider, self.instance_type) == (offer["provider"], offer["instance_type"])
            and self.price_model in {None, offer["price_model"]}
            and self.tier in {None, offer["tier"]}
        )

    def chosen(self, offers: Iterable[Row]) -> Row | None:
        """Of several offers that it means, the one to speak: on demand, direct, fresh, cheapest."""
        return min((offer for offer in offers if self.means(offer)), key=_first, default=None)


def _first(offer: Row) -> tuple[Any, ...]:
    price = offer["usd_per_gpu_hour"]
    return (
        offer["price_model"] != PriceModel.ON_DEMAND,
        offer["via"] is not None,
        price is None,
        offer["outdated"],
        float(price or 0),
        offer["offer_id"],
    )


def key(offer: Row, *, by_region: bool) -> str:
    """What names a row from one run to the next."""
    via = f" via {offer['via']}" if offer["via"] else ""
    place = f" in {offer['region']}" if by_region and offer["region"] else ""
    return f"{Pick.of(offer)}{via}{place}"
