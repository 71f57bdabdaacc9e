"""The files of catalog/data/, read and checked line by line: prices, places, rates, facts.

A wrong line is one sentence that names the file, the line and the field (`BadFact`); nothing of
any file is taken then.
"""

import csv
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import TypeVar

from catalog import facts
from catalog.consistency import contradictions
from catalog.facts import DATA, BadFact
from catalog.ledger import spec, unfit
from catalog.records import NO_PRICE_FOUND, Fact, OfferRecord, PriceModel
from catalog.sieve import refusal

COLUMNS = {
    "providers.csv": ("slug", "title", "homepage", "country", "also_known_as", "source"),
    "regions.csv": ("provider", "region", "country", "continent", "source"),
    "rates.csv": ("currency", "usd_per_unit", "day", "source"),
    "prices.csv": (
        "provider", "instance_type", "region", "tier", "price_model", "amount", "currency", "per",
        "minimum_hours", "includes", "note", "source", "checked",
    ),
}  # fmt: skip
FACT_FILES = ("gpus.csv", "fabrics.csv", "instances.csv")
PER_GPU = ("gpu", "gpu_hour", "per_gpu_hour")
PER_INSTANCE = ("instance", "instance_hour", "per_instance_hour")

HERE = Path(__file__).parent
RULES = ("facts", "ledger", "scopes", "statements", "fabrics", "bundled")

Line = Mapping[str, str]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rate:
    """US dollars for one unit of a currency, on a day."""

    currency: str
    usd: Decimal
    day: date
    source: str


@dataclass(slots=True)
class Data:
    """All that the files say, checked."""

    providers: list[Line] = field(default_factory=list)
    regions: list[Line] = field(default_factory=list)
    rates: list[Rate] = field(default_factory=list)
    facts: dict[str, list[Fact]] = field(default_factory=dict)
    offers: list[OfferRecord] = field(default_factory=list)


def digest(folder: Path = DATA) -> str:
    """What the files hold and which rules read them, in one word.

    Loading them again is skipped while it is the same.
    """
    said = hashlib.sha256()
    for path in (*sorted(folder.glob("*.csv")), *(HERE / f"{name}.py" for name in RULES)):
        said.update(path.name.encode() + b"\0" + path.read_bytes())
    return said.hexdigest()


def read(folder: Path = DATA) -> Data:
    """Every file of the folder.

    Raises
    ------
    BadFact
        Naming the file that is not there, or the line and what is wrong with it.
    """
    for name in (*COLUMNS, *FACT_FILES):
        if not (folder / name).is_file():
            raise BadFact(f"{folder / name} is not there")
    try:
        return _read(folder)
    except UnicodeDecodeError as problem:
        raise BadFact(f"a file of {folder} is not UTF-8 text: {problem}") from None
    except csv.Error as problem:
        raise BadFact(f"a file of {folder} is not CSV: {problem}") from None


def _read(folder: Path) -> Data:
    data = Data()
    data.providers = list(_checked(folder / "providers.csv", _provider))
    data.regions = list(_checked(folder / "regions.csv", _region))
    data.rates = list(_checked(folder / "rates.csv", _rate))
    for name in FACT_FILES:
        if (folder / name).exists():
            data.facts[name] = _facts(folder / name)
    price = _Prices(data)
    data.offers = list(_checked(folder / "prices.csv", price.offer))
    data.offers += price.unpriced({offer.subject for offer in data.offers})
    return data


def _checked(path: Path, read_line: Callable[[Line], T]) -> Iterator[T]:
    """What `read_line` makes of each line; its complaint gets the file and line number."""
    for number, line in _lines(path):
        try:
            yield read_line(line)
        except BadFact as problem:
            raise BadFact(f"{path.name} line {number}: {problem}") from None


def _lines(path: Path) -> Iterator[tuple[int, Line]]:
    columns = COLUMNS[path.name]
    with path.open(encoding="utf-8", newline="") as text:
        rows = csv.reader(text)
        if tuple(next(rows, ())) != columns:
            raise BadFact(f"{path.name} line 1: the columns are {','.join(columns)}")
        for row in rows:
            if not row:
                continue
            if len(row) != len(columns):
                wrong = f"has {len(row)} fields, not {len(columns)}"
                raise BadFact(f"{path.name} line {rows.line_num}: {wrong}")
            yield rows.line_num, dict(zip(columns, row, strict=True))


def _facts(path: Path) -> list[Fact]:
    """The facts of a file; refused where what one provider says of a type contradicts itself."""
    said = list(facts.read(path))
    if path.name == "gpus.csv":
        return said
    for fact in said:
        if reason := unfit(fact):
            raise BadFact(f"{path.name}, {fact.subject}: {reason}")
    for subject, sentence in contradictions(said):
        raise BadFact(f"{path.name}, {subject}: {sentence}")
    return said


def _provider(line: Line) -> Line:
    _need(line, "slug", "title", "source")
    return line


def _region(line: Line) -> Line:
    _need(line, "provider", "region", "source")
    if line["country"] and not (len(line["country"]) == 2 and line["country"].isupper()):
        raise BadFact(f"country: {line['country']!r} is not two capital letters")
    return line


def _rate(line: Line) -> Rate:
    _need(line, "currency", "usd_per_unit", "day", "source")
    return Rate(
        line["currency"], _positive(line, "usd_per_unit"), _day(line, "day"), line["source"]
    )


def _need(line: Line, *names: str) -> None:
    if missing := next((name for name in names if not line[name].strip()), None):
        raise BadFact(f"{missing}: is empty")


def _positive(line: Line, name: str) -> Decimal:
    text = line[name]
    try:
        number = Decimal(text) if len(text) <= 24 else Decimal("NaN")
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or not 0 < number < 10**9:
        raise BadFact(f"{name}: {text[:40]!r} is not an amount above 0")
    return number


def _day(line: Line, name: str) -> date:
    try:
        return facts.day(line[name])
    except BadFact as problem:
        raise BadFact(str(problem).replace("checked", name, 1)) from None


class _Prices:
    """Lines of prices.csv as offers, with the rates and GPU counts that the other files give."""

    def __init__(self, data: Data) -> None:
        self.rates = sorted(data.rates, key=lambda rate: rate.day)
        self.said: dict[str, list[Fact]] = {}
        for fact in data.facts.get("instances.csv", ()):
            self.said.setdefault(fact.subject, []).append(fact)

    def offer(self, line: Line) -> OfferRecord:
        """One dated price. Without an amount: the type is on sale, its price not published."""
        _need(line, "provider", "instance_type", "price_model", "source", "checked")
        day = _day(line, "checked")
        amount = self._for_the_instance(line) if line["amount"] else None
        rate = self._rate(line["currency"], day) if amount else None
        offer = OfferRecord(
            provider=line["provider"],
            instance_type=line["instance_type"],
            region=line["region"] or None,
            tier=line["tier"] or None,
            price_model=_price_model(line),
            native_amount=amount,
            native_currency=line["currency"] if amount else None,
            usd_per_hour=round(amount * rate.usd, 8) if amount and rate else None,
            usd_rate=rate.usd if rate and line["currency"] != "USD" else None,
            usd_rate_date=rate.day if rate and line["currency"] != "USD" else None,
            price_note=line["note"] or None,
            price_includes=line["includes"] or None,
            minimum_hours=float(_positive(line, "minimum_hours"))
            if line["minimum_hours"]
            else None,
            collected_at=datetime.combine(day, time(), UTC),
            source_url=line["source"],
        )
        if reason := refusal(offer):
            raise BadFact(reason)
        return offer

    def unpriced(self, priced: set[str]) -> Iterator[OfferRecord]:
        """A known type without a price is listed too. It gives way to any offer of the type."""
        for subject in sorted(self.said.keys() - priced):
            provider, name = subject.split("/", 1)
            seen = max(self.said[subject], key=lambda fact: fact.checked)
            yield OfferRecord(
                provider=provider,
                instance_type=name,
                price_model=PriceModel.QUOTE,
                price_note=NO_PRICE_FOUND,
                collected_at=datetime.combine(seen.checked, time(), UTC),
                source_url=seen.source,
            )

    def _for_the_instance(self, line: Line) -> Decimal:
        amount = _positive(line, "amount")
        if line["per"] in PER_INSTANCE:
            return amount
        if line["per"] not in PER_GPU:
            raise BadFact(f"per: {line['per'][:40]!r} is neither 'gpu' nor 'instance'")
        subject = f"{line['provider']}/{line['instance_type']}"
        count = spec(self.said.get(subject, ())).number("gpu_count")
        if count is None:
            raise BadFact(f"per: the GPUs of {subject} are not known (gpu_count in instances.csv)")
        return amount * count

    def _rate(self, currency: str, day: date) -> Rate | None:
        """The last rate known on that day, or else the first after it."""
        if currency == "USD":
            return Rate("USD", Decimal(1), day, "")
        known: Sequence[Rate] = [rate for rate in self.rates if rate.currency == currency]
        before = [rate for rate in known if rate.day <= day]
        return before[-1] if before else next(iter(known), None)


def _price_model(line: Line) -> PriceModel:
    try:
        return PriceModel(line["price_model"])
    except ValueError:
        words = ", ".join(PriceModel)
        raise BadFact(f"price_model: {line['price_model'][:40]!r} is none of {words}") from None
