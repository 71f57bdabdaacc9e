"""Money in another currency than the dollar, beside it: the amount, the rate, and the rate's day.

What is named `usd_*` stays in dollars. Asked for `currency=EUR`, what has `usd_per_hour` also has
`eur_per_hour`, and the `usd_per_eur` by which it was divided, of the day `usd_per_eur_date`. The
rate is the newest reference rate (of the European Central Bank), or the newest that there was at
the time asked for; where the provider itself asks for that currency, it is the rate that made
dollars of its price, so that what is shown is what it asks.
"""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from catalog.ledger import plain
from catalog.models import Rate

DOLLAR = "USD"
SIGNS = {DOLLAR: "$", "EUR": "€", "GBP": "£", "INR": "₹", "JPY": "¥"}
# Without a smaller unit in use: CLDR, supplemental/currencyData.xml, `digits="0"` (2026-11-30).
UNDIVIDED = frozenset(
    {"BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF", "UGX", "VND", "VUV",
     "XAF", "XOF", "XPF"}
)  # fmt: skip
PER_HOUR = ("per_hour", "per_gpu_hour")  # what an offer says in dollars
PLACES = Decimal("0.000001")
NO_OFFER: Mapping[str, Any] = {}
NO_AMOUNT = {"usd_rate", "usd_rate_date"}


def known() -> list[str]:
    """The dollar, and every currency that has a rate."""
    return [
        DOLLAR,
        *Rate.objects.order_by("currency").values_list("currency", flat=True).distinct(),
    ]


def in_currency(at: datetime | None = None) -> Callable[[str], "Currency | None"]:
    """How `currency=` is read, of that time: None for the dollar, which is always there."""
    return lambda text: None if text == DOLLAR else Currency.named(text, at)


@dataclass(frozen=True, slots=True)
class Currency:
    """What one unit of a currency is worth, by the reference rate of a day. [USD]"""

    code: str
    usd_per_unit: Decimal
    day: date
    source: str

    @classmethod
    def named(cls, code: str, at: datetime | None = None) -> "Currency":
        """A currency at its newest rate, or at the newest of that time; else at the first we have.

        Raises
        ------
        ValueError
            Where there is none.
        """
        rates = Rate.objects.filter(currency=code).order_by("-day")
        rate = (rates.filter(day__lte=at.date()) if at else rates).first() or rates.last()
        if rate is None:
            raise ValueError(f"{code[:80]!r} has no rate. There are: {', '.join(known())}.")
        return cls(code, rate.usd_per_unit, rate.day, rate.source)

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> "Currency":
        """As `as_json` said it."""
        day = date.fromisoformat(str(said["rate_date"]))
        return cls(said["code"], Decimal(said["usd_per_unit"]), day, said["source"])

    @property
    def prefix(self) -> str:
        """What stands where `usd` does: `eur`."""
        return self.code.lower()

    @property
    def keys(self) -> tuple[str, ...]:
        """What an offer has besides: its amounts, the rate, and the rate's day."""
        return self.keys_beside([f"usd_{name}" for name in PER_HOUR])

    def keys_beside(self, fields: Collection[str]) -> tuple[str, ...]:
        """The same of a row that has these fields."""
        amounts = (self._beside(name) for name in fields)
        return (*filter(None, amounts), f"usd_per_{self.prefix}", f"usd_per_{self.prefix}_date")

    def _beside(self, name: str) -> str | None:
        """What stands beside a field in dollars; None where it is no amount."""
        words = name.split("_")
        if "usd" not in words or name in NO_AMOUNT:
            return None
        return "_".join(self.prefix if word == "usd" else word for word in words)

    @property
    def selected(self) -> tuple[str, ...]:
        """The keys as columns of SQL over rows that have the price, its currency and its rate."""
        native = f"native_currency = '{self.code}' and usd_rate is not null"
        rate = f"(case when {native} then usd_rate else {plain(self.usd_per_unit)} end)"
        amounts = (f"trim_scale(round(usd_{name} / {rate}, 6))::text" for name in PER_HOUR)
        day = f"(case when {native} then usd_rate_date else date '{self.day}' end)"
        expressions = (*amounts, f"trim_scale({rate})::text", day)
        return tuple(f"{sql} as {key}" for sql, key in zip(expressions, self.keys, strict=True))

    def beside(self, said: Mapping[str, Any], rate: Decimal | None = None) -> dict[str, Any]:
        """Whatever says dollars, at any depth, with each amount in this currency beside it.

        A part that has an offer, or is one, goes by the rate of that offer.
        """
        offer = said.get("offer", said)
        if "native_currency" in offer:
            rate = self.rate_of(offer)
        found: dict[str, Any] = {}
        for key, value in said.items():
            found[key] = self._within(value, rate)
            if name := self._beside(key):
                found[name] = self._amount(value, rate or self.usd_per_unit)
        if "native_currency" in said:
            found[self.keys[-2]] = plain(self.rate_of(said))
            found[self.keys[-1]] = said["usd_rate_date"] if self._asks(said) else self.day
        return found

    def rate_of(self, offer: Mapping[str, Any]) -> Decimal:
        """Dollars for one unit, for the price of this offer."""
        return Decimal(offer["usd_rate"]) if self._asks(offer) else self.usd_per_unit

    def _asks(self, offer: Mapping[str, Any]) -> bool:
        """Whether the provider itself asks for this currency."""
        return offer.get("native_currency") == self.code and offer.get("usd_rate") is not None

    def _within(self, value: Any, rate: Decimal | None) -> Any:
        if isinstance(value, Mapping):
            return self.beside(value, rate)
        if isinstance(value, list):
            return [self._within(each, rate) for each in value]
        return value

    def _amount(self, usd: Any, rate: Decimal) -> Any:
        """Money as text stays text, computed money a number, a range a range; unknown unknown."""
        if isinstance(usd, Mapping):
            return {end: self._amount(value, rate) for end, value in usd.items()}
        if isinstance(usd, int | float):
            return usd / float(rate)
        return None if usd is None else plain((Decimal(usd) / rate).quantize(PLACES))

    def as_json(self) -> dict[str, Any]:
        """The reference rate and where it is from."""
        return {
            "code": self.code,
            "usd_per_unit": plain(self.usd_per_unit),
            "rate_date": self.day,
            "source": self.source,
        }


def sign_of(code: str) -> str:
    """$, €, or the letters of a currency that has no sign of its own."""
    return SIGNS.get(code, code)


def places(amount: float, code: str = DOLLAR) -> int:
    """Decimals of an amount: two, none of a currency without cents unless under ten of it."""
    return 0 if code in UNDIVIDED and abs(amount) >= 10 else 2


@dataclass(frozen=True, slots=True)
class Money:
    """What a page shows its amounts in: dollars, or another currency that its address asks for."""

    currency: Currency | None = None

    @classmethod
    def of(cls, said: Mapping[str, Any] | None) -> "Money":
        """The currency of an answer; the dollar where it names none."""
        return cls(Currency.of(said)) if said else cls()

    @property
    def query(self) -> str:
        """What an address says of it after its path: nothing of the dollar."""
        return f"?currency={self.code}" if self.currency else ""

    @property
    def rate(self) -> str:
        """Dollars for one unit, as text."""
        return plain(self.currency.usd_per_unit) if self.currency else ""

    @property
    def day(self) -> date | None:
        """Of that rate."""
        return self.currency.day if self.currency else None

    @property
    def code(self) -> str:
        """Its three letters."""
        return self.currency.code if self.currency else DOLLAR

    @property
    def prefix(self) -> str:
        """What a field of it begins with: `usd`, `eur`."""
        return self.code.lower()

    @property
    def sign(self) -> str:
        """$, €, or the letters with a blank after them."""
        sign = sign_of(self.code)
        return f"{sign}\N{NO-BREAK SPACE}" if sign == self.code else sign

    def said(self, amount: str) -> str:
        """An amount with its sign before it."""
        return f"{self.sign}{amount}"

    def priced(self, amount: float) -> str:
        """The same, with as many decimals as the currency has."""
        return self.said(f"{amount:,.{places(amount, self.code)}f}")

    def heading(self, text: object) -> str:
        """A heading, a unit or a sentence that says dollars: in this money."""
        if self.currency is None:
            return str(text)
        return re.sub(r"\$(?=[%\d])", self.sign, str(text)).replace("$", self.sign.strip())

    def amount(self, usd: Any, offer: Mapping[str, Any] = NO_OFFER) -> Any:
        """Dollars as this money; at the provider's own rate where it asks for that currency."""
        if usd is None or self.currency is None:
            return usd
        return float(usd) / float(self.currency.rate_of(offer))

    def exactly(self, usd: Any, offer: Mapping[str, Any] = NO_OFFER) -> Any:
        """The same as a decimal of six places."""
        if usd is None or self.currency is None:
            return usd
        return plain((Decimal(usd) / self.currency.rate_of(offer)).quantize(PLACES))

    def of_gpu_hour(self, offer: Mapping[str, Any]) -> Any:
        """The price of a GPU-hour of a row that was read with this currency."""
        return offer[f"{self.prefix}_per_gpu_hour"]
