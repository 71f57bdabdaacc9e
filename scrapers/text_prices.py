"""The price that a listing's text prints: of one hour, of one instance or one GPU."""

import re
from collections.abc import Iterator
from decimal import Decimal

from scrapers.text_claims import clauses
from scrapers.text_reading import Reading

_CURRENCIES = {"$": "USD", "us$": "USD", "usd": "USD", "€": "EUR", "eur": "EUR", "£": "GBP"}
_CURRENCIES |= {"gbp": "GBP", "chf": "CHF", "jpy": "JPY", "円": "JPY"}
_SIGN = r"(us\$|(?<![a-z])\$|usd|€|eur|£|gbp|chf|jpy)"
_AMOUNT = r"([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,6})?|[0-9]{1,6}(?:[.,][0-9]{1,6})?)"
_HOUR = r"(?:h(?:ou)?rs?|h|std\.?|stunde|heure|時間|hourly)(?![a-z])"
_PER_GPU = r"(?:/|per|je|pro|par) ?(?:gpu|card)(?:[-/ ]*(?:per |/ ?)?)"
_PRICE = re.compile(
    rf"(?:{_SIGN} ?{_AMOUNT}|{_AMOUNT} ?(us\$|\$|€|£|円|(?:usd|eur|gbp|chf|jpy)(?![a-z]))) ?"
    rf"({_PER_GPU})?[-/ ]*(?:per |an |a |je |pro |par )?({_HOUR})?(?: ?/ ?|[- ]?per[- ]?)?(gpu)?",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"(?:from|starting(?: at)?|as low as|ab|à partir de|up to|until|save) ?$", re.IGNORECASE
)


_OTHER_TERMS = re.compile(
    r"(?<![a-z])(?:spot|preempt|interrupt|reserv|commit|year|month|annual|[0-9]{1,2}y(?![a-z])|jahr|monat"
    r"|ans?(?: |$)|annuel|mois|egress|storage)|月|年",
    re.IGNORECASE,
)
_RANGE = re.compile(r" ?(?:-|to|bis|~) ?(?:us)?[$€£]? ?[0-9]", re.IGNORECASE)


def price_of(reading: Reading) -> tuple[Decimal, str] | None:
    """Of one instance and one hour, in the currency printed, where the text has one such price."""
    prices = {
        price
        for part in reading.parts
        for clause in clauses(part)
        if not _OTHER_TERMS.search(clause)
        for price in _prices(reading, clause)
    }
    if len(prices) > 1:
        reading.why["price"] = "not known: the text has several prices an hour"
    return prices.pop() if len(prices) == 1 else None


def _prices(reading: Reading, part: str) -> Iterator[tuple[Decimal, str]]:
    """ "from $2", "$2 - $3" and what is not said to be for an hour are no price."""
    for found in _PRICE.finditer(part):
        before, first, second, behind, gpu, hour, also_gpu = found.groups()
        amount, currency = _number(first or second), _CURRENCIES[(before or behind).lower()]
        where = part[max(0, found.start() - 20) : found.start()]
        if amount == 0 or _LEAST.search(where) or _RANGE.match(part, found.end()):
            reading.unknown("price", f'"{where[-12:]}{found[0]}" is no price of its own')
        elif re.search(r"[0-9] ?(?:-|to|bis|~) ?$", where):
            reading.unknown("price", f'"{where[-12:]}{found[0]}" is the end of a range')
        elif not hour:
            reading.unknown("price", f'"{found[0]}" is not said to be for an hour')
        elif price := _of_instance(reading, amount, bool(gpu or also_gpu), found[0]):
            yield price, currency


def _of_instance(reading: Reading, amount: Decimal, per_gpu: bool, printed: str) -> Decimal | None:
    count = reading.said.get("gpu_count")
    if not per_gpu:
        reading.why["price"] = f'"{printed}" is for one instance and hour'
        return amount
    if not isinstance(count, Decimal):
        reading.unknown("price", f'"{printed}" is for one GPU, and how many is not said')
        return None
    reading.why["price"] = f'"{printed}" x {count} GPUs'
    return amount * count


def _number(written: str) -> Decimal:
    """ "1,234.50" has thousands, "19,92" a decimal comma."""
    if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", written):
        return Decimal(written.replace(",", ""))
    return Decimal(written.replace(",", "."))
