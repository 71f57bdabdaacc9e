"""The price that a listing's text prints: of one hour, of one instance or one GPU."""

import re
from decimal import Decimal

from scrapers.text_reading import Reading

_CURRENCIES = {"$": "USD", "us$": "USD", "usd": "USD", "€": "EUR", "eur": "EUR", "£": "GBP"}
_CURRENCIES |= {"gbp": "GBP", "chf": "CHF", "jpy": "JPY", "円": "JPY"}
_SIGN = r"(us\$|(?<![a-z])\$|usd|€|eur|£|gbp|chf|jpy)"
_AMOUNT = r"([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]{1,6})?|[0-9]{1,6}(?:[.,][0-9]{1,6})?)"
_HOUR = r"(?:h(?:ou)?rs?|h|std\.?|stunde|heure|時間|hourly)(?![a-z])"
_PER_GPU = r"(?:/|per|je|pro|par) ?(?:gpu|card)(?:[-/ ]*(?:per |/ ?)?)"
_PRICE = re.compile(
    rf"(?:{_SIGN} ?{_AMOUNT}|{_AMOUNT} ?(us\$|\$|usd|€|eur|£|gbp|chf|jpy|円)) ?"
    rf"({_PER_GPU})?[-/ ]*(?:per |an |a |je |pro |par )?({_HOUR})?(?: ?/ ?|[- ]?per[- ]?)?(gpu)?",
    re.IGNORECASE,
)
_LEAST = re.compile(
    r"(?:from|starting(?: at)?|as low as|ab|à partir de|up to|until|save) ?$", re.IGNORECASE
)


def price_of(reading: Reading) -> tuple[Decimal, str] | None:
    """Of one instance and one hour, in the currency printed; "from" and months are none."""
    for found in _PRICE.finditer(reading.text):
        before, *rest = found.groups()
        sign = before or rest[2]
        amount, per_gpu, hour = _number(rest[0] or rest[1]), rest[3] or rest[5], rest[4]
        where = reading.text[max(0, found.start() - 20) : found.start()]
        if amount == 0 or _LEAST.search(where):
            reading.unknown("usd_per_hour", f'"{where[-12:]}{found[0]}" is no price of its own')
        elif not hour:
            reading.unknown("usd_per_hour", f'"{found[0]}" is not said to be for an hour')
        else:
            return _of_instance(reading, amount, _CURRENCIES[sign.lower()], bool(per_gpu), found[0])
    return None


def _of_instance(
    reading: Reading, amount: Decimal, currency: str, per_gpu: bool, printed: str
) -> tuple[Decimal, str] | None:
    count = reading.said.get("gpu_count")
    if not per_gpu:
        reading.why["usd_per_hour"] = f'"{printed}" is for one instance and hour'
        return amount, currency
    if not isinstance(count, Decimal):
        reading.unknown("usd_per_hour", f'"{printed}" is for one GPU, and how many is not said')
        return None
    reading.why["usd_per_hour"] = f'"{printed}" x {count} GPUs'
    return amount * count, currency


def _number(written: str) -> Decimal:
    """ "1,234.50" has thousands, "19,92" a decimal comma."""
    if re.fullmatch(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", written):
        return Decimal(written.replace(",", ""))
    return Decimal(written.replace(",", "."))
