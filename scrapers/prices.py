"""Between which prices an hour of one GPU can lie: outside, the row is held, not believed.

The bands are wide: they catch a price per node read as per GPU, cents read as dollars, a month
read as an hour. Lowest seen and highest asked in `catalog/data` in 2025 and 2026, with a margin.
"""

from decimal import Decimal
from functools import cache

WIDEST = (Decimal("0.01"), Decimal(200))
# US$ an hour, of one whole GPU.
BANDS = {
    ("h100", "h200", "h800", "h20", "gh200", "mi300x", "mi325x"): ("0.4", "40"),
    ("b200", "b300", "gb200", "gb300", "vr200", "mi350x", "mi355x"): ("0.8", "80"),
    ("a100", "a800", "mi250x", "mi210", "gaudi2", "gaudi3"): ("0.1", "30"),
    ("v100", "v100s", "l40s", "l40", "l20", "a40", "a30", "rtxpro6000", "rtx6000ada", "rtxa6000"): (
        "0.02",
        "15",
    ),
}
_BY_CHIP = {
    chip: (Decimal(low), Decimal(high)) for chips, (low, high) in BANDS.items() for chip in chips
}
OTHERS = (Decimal("0.01"), Decimal(12))  # cards of the desktop and older ones


def outside_band(
    per_hour: Decimal, currency: str | None, chips: frozenset[str], gpu_count: Decimal | None
) -> str | None:
    """Gate: the price of one GPU is within its band; else why not, in a sentence.

    Where only the native amount is known (in `currency`, not US$), or not how many GPUs it buys,
    the widest band holds, a hundred times as wide for currencies of small units.
    """
    low, high = _band(chips)
    if gpu_count is None:
        low, high, gpu_count = WIDEST[0], WIDEST[1] * 8, Decimal(1)
    if currency is not None:
        low, high = WIDEST[0], high * 200
    price = per_hour / gpu_count
    if low <= price <= high:
        return None
    kind = " or ".join(chip.upper() for chip in sorted(chips)) or "GPU"
    unit, compared = currency or "US$", "below" if price < low else "above"
    usual = f"{unit} {low:f} to {high:f}"
    return f"held: {unit} {price:.4f} an hour for one {kind} is {compared} all prices seen, {usual}"


@cache
def _band(chips: frozenset[str]) -> tuple[Decimal, Decimal]:
    if not chips:
        return WIDEST
    bands = [_BY_CHIP.get(chip, OTHERS) for chip in chips]
    return min(low for low, _ in bands), max(high for _, high in bands)
