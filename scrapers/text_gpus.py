"""Where in a running text a GPU is named, how many of it, and with what memory."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from catalog.facts import gpus
from scrapers.gpu_names import skus_of
from scrapers.quantities import gigabytes


@dataclass(frozen=True, slots=True)
class Words:
    """A GPU in a text: `name` as `gpu_names.identify` reads it, and the words as printed."""

    name: str
    count: int | None
    printed: str


def gpu_in(text: str) -> Words | None:
    """The first GPU that a text names: "8x H100 (80 GB SXM5)", "n3-H100-SXM5x8", "2a100p"."""
    found = _pattern().search(text)
    if found is None:
        return None
    before, chip = found[1], found[2]
    after = text[found.end() : found.end() + 24]
    times = re.match(
        r"(?:[-_ ]?(?:sxm[2-6]?|pcie|nvl|oam|hgx))? ?x ?([0-9]{1,2})(?![0-9])", after, re.IGNORECASE
    )
    sized = re.match(r"(?:-sxm[2-6]?)?-([0-9]{1,2})-[0-9]{2,3}G", after, re.IGNORECASE)
    number = (times and times[1]) or (sized and sized[1]) or before
    return Words(
        " ".join([re.sub(r"[-_ ]", " ", chip), *_form(text, after)]),
        int(number) if number and 0 < int(number) <= 128 else None,
        (found[0] + after).strip()[:40],
    )


@cache
def _pattern() -> re.Pattern[str]:
    """Any chip of ours, its letters and figures apart or together, longest first."""
    chips = sorted({sku.chip for sku in skus_of(gpus())}, key=len, reverse=True)
    spelled = "|".join(_spelled(chip) for chip in chips)
    before = r"(?<![A-WYZa-wyz])(?:(?<![0-9])([0-9]{1,3}) ?x?[ _-]?)?"
    # "p4d" is no P4; "h100x8", "h100ib" and "a100p" are what they look like
    after = r"(?![0-9])(?=$|[^A-Za-z]|x[0-9]|ib(?![a-z])|p(?![a-z])|sxm|pcie|nvl)"
    return re.compile(f"{before}({spelled}){after}", re.IGNORECASE)


def _spelled(chip: str) -> str:
    return r"[-_ ]?".join(re.findall(r"rtx|pro|ada|quadro|[a-z]*[0-9]+[a-z]*|[a-z]+", chip))


_FORM = re.compile(r"(?<![A-Za-z])(sxm[2-6]?|pcie|nvl|oam|hgx)(?![A-Za-z])", re.IGNORECASE)


def _form(text: str, after: str) -> Iterable[str]:
    """The form factor, where all that the text names are one; "a100p" is PCIe."""
    if after[:1] in ("p", "P") and not after[1:2].isalpha():
        return ["PCIe"]
    near = _FORM.search(after)
    if near:
        return [near[1]]
    forms = {found[1].lower() for found in _FORM.finditer(text)}
    return list(forms) if len(forms) == 1 else []


_MEMORY = re.compile(r"(?<![0-9.])([0-9]{2,3}) ?(?:GB|G|GiB)(?![A-Za-z/0-9])", re.IGNORECASE)
_HEADING = re.compile(
    r"(?:accelerator|gpu)[- ]memory ?\((GB|GiB|MiB)\)\"?:? ?([0-9]{1,6})", re.IGNORECASE
)
_MIB = re.compile(r"(?:gpu[-_](?:memory|ram)|MiB)\"?: ?([0-9]{4,6})", re.IGNORECASE)


def memory_in(text: str, gpu_count: object) -> Decimal | None:
    """Of one GPU, by the first figure that may be one: "80 GB", "instance-gpu-memory: 22888"."""
    heading = _HEADING.search(text)
    if heading:
        unit = {"gb": "GB", "gib": "GiB", "mib": "MiB"}[heading[1].lower()]
        return _of_one(gigabytes(Decimal(heading[2]), unit), gpu_count)
    mebibytes = _MIB.search(text)
    if mebibytes:
        return gigabytes(Decimal(mebibytes[1]), "MiB")
    found = _MEMORY.search(text)
    if found is None:
        return None
    return _of_one(Decimal(found[1]), gpu_count)


def _of_one(gb: Decimal, gpu_count: object) -> Decimal:
    """A figure that no one GPU has is the total of them all."""
    if isinstance(gpu_count, Decimal) and gpu_count > 1 and gb > LARGEST_GB:
        return gb / gpu_count
    return gb


LARGEST_GB = 300
