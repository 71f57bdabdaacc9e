"""Reader of peak flop/s: what a text prints of a GPU, told dense from sparse by its datasheet.

Vendors print the peak of 2:4 sparse matrices, twice the dense one; the catalog has the dense. An
offer has no column of it, so that it stands among the reasons only.
"""

import re
from decimal import Decimal

from catalog.facts import gpus
from scrapers.text_reading import Reading

_PEAK = re.compile(
    r"(?:(fp4|fp8|fp16|bf16)[ :]{0,3})?(?<![0-9.,])"
    r"([0-9]{1,3}(?:,[0-9]{3})+|[0-9]{1,6}(?:\.[0-9]{1,3})?)"
    r" ?(t|p)flop(?:s|/s)(?: ?\(?(fp4|fp8|fp16|bf16))?(?![a-z0-9])",
    re.IGNORECASE,
)
_TERA = {"t": 1, "p": 1000}
NEAR = Decimal("0.02")
TWICE = 2


def _peaks(reading: Reading) -> None:
    """ "1979 TFLOPS" of an H100 SXM is twice its dense bf16 peak: with sparsity."""
    slug = reading.gpu.slug if reading.gpu else None
    if slug is None:
        return
    count = reading.said.get("gpu_count") or 1
    for found in _PEAK.finditer(reading.text):
        printed = Decimal(found[2].replace(",", "")) * _TERA[found[3].lower()]
        kind = (found[1] or found[4] or "bf16").lower()
        fact = gpus()[slug].get(f"{kind}_tflops")
        dense = Decimal(str(fact.value)) if fact else None
        times = dense and _times(printed, dense, Decimal(str(count)))
        if times:
            sparse = "twice that: with 2:4 sparsity" if times == TWICE else "that: dense"
            reading.say(f"{kind}_tflops", dense, f'"{found[0].strip()}" is {sparse}')


def _times(printed: Decimal, dense: Decimal, count: Decimal) -> int | None:
    """1 or 2 times the dense peak of one GPU, or of all."""
    for times in (1, TWICE):
        peaks = (times * dense, times * dense * count)
        if any(abs(printed - peak) <= peak * NEAR for peak in peaks):
            return times
    return None


PEAK_READERS = (_peaks,)
