"""Which GPU a provider's words mean: chip, form factor and memory, or the SKUs it may be.

A slug says all three (`h100-sxm5-80gb`); the list in `catalog/data/gpus.csv` is normative. Words
are first looked up whole in `aliases.csv` (a line each, for one provider or for all), then read:
the chip, then what narrows it down. "H100" alone is four products, so it stays four candidates.
A word that is not understood is never skipped: "RTX 4090 Laptop" is not an RTX 4090.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType

from catalog.facts import gpus
from scrapers.quantities import NOMINAL_TOLERANCE, distance_from_nominal, fold

ALIASES = Path(__file__).parent / "aliases.csv"


class UnknownGpu(ValueError):
    """Words that name no GPU we know."""


@dataclass(frozen=True, slots=True)
class Sku:
    """What a slug says: `h100-sxm5-80gb`."""

    slug: str
    chip: str
    form: str
    memory_gb: int


@dataclass(frozen=True, slots=True)
class Named:
    """The SKU, or None and those it may be."""

    slug: str | None
    candidates: tuple[str, ...]
    note: str = ""


Aliases = Mapping[tuple[str, str], str]


def identify(
    words: str,
    memory_gb: Decimal | None = None,
    provider: str = "",
    taught: Aliases = MappingProxyType({}),
) -> Named:
    """The GPU that `words` name, given its memory where the listing prints one. [GB]

    `taught`: what people have said of words, before `aliases.csv`; see `alias_key`.

    Raises
    ------
    UnknownGpu
        No chip of ours is named, or a word beside it is not understood.
    """
    folded = fold(words)
    alias = _alias(folded, provider, taught)
    skus, stated_gb = _meant(alias or folded, words)
    named = _narrowed(skus, memory_gb if stated_gb is None else Decimal(stated_gb))
    if named.note or memory_gb is None:
        return named
    slugs = (named.slug,) if named.slug else named.candidates
    return _narrowed([_by_slug()[slug] for slug in slugs], memory_gb)


def _narrowed(skus: list[Sku], memory_gb: Decimal | None) -> Named:
    if memory_gb is None:
        fitting = skus
    elif not (fitting := _of_memory(skus, memory_gb)):
        note = f"no {skus[0].chip.upper()} that we know has {memory_gb:.0f} GB"
        return Named(None, tuple(sku.slug for sku in skus), note)
    if len(fitting) == 1:
        return Named(fitting[0].slug, ())
    return Named(None, tuple(sku.slug for sku in fitting))


def _of_memory(skus: list[Sku], gb: Decimal) -> list[Sku]:
    """Those whose nominal memory is nearest to a printed one, if near enough."""
    distances = {sku: distance_from_nominal(gb, sku.memory_gb) for sku in skus}
    nearest = min(distances.values(), default=Decimal(1))
    if nearest > NOMINAL_TOLERANCE:
        return []
    return [sku for sku, distance in distances.items() if distance == nearest]


def share_of(named: Named, slice_gb: Decimal) -> Decimal | None:
    """Which share of one card a slice's memory is: 1/8 of an L4 for 3 GB. [GB]

    None where the cards that it may be have different memories, or the slice is no part.
    """
    wholes = {memory_of(slug) for slug in (named.slug, *named.candidates) if slug}
    if len(wholes) != 1 or slice_gb <= 0:
        return None
    parts = round(wholes.pop() / slice_gb)
    return round(Decimal(1) / parts, 4) if parts > 1 else None


# --- The words --------------------------------------------------------------------------------

MAKERS = {"nvidia", "amd", "intel", "tesla", "geforce", "quadro", "radeon", "instinct", "habana"}
FORMS = {
    "sxm": "sxm", "sxm2": "sxm2", "sxm3": "sxm3", "sxm4": "sxm4", "sxm5": "sxm5", "sxm6": "sxm6",
    "hgx": "sxm", "pcie": "pcie", "pcie4": "pcie", "pcie5": "pcie", "pci": "pcie", "nvl": "nvl",
    "fhhl": "pcie", "oam": "oam", "superchip": "superchip",
}  # fmt: skip
# Words that tell nothing of which SKU it is.
SILENT = {
    "gpu", "gpus", "accelerator", "tensor", "core", "cloud", "datacenter", "vram", "nvlink",
    "hbm", "hbm2", "hbm2e", "hbm3", "hbm3e", "gddr5", "gddr6", "gddr6x", "gddr7",
    "generation", "blackwell", "hopper", "ampere", "turing", "volta", "nvl72", "oc",
    "server", "edition", "workstation", "gaming",
}  # fmt: skip
_GLUED = re.compile(r"(?<![a-z])(geforce|quadro|tesla|nvidia)(?=[a-z])", re.IGNORECASE)
_TOKEN = re.compile(r"[A-Za-z0-9.]+")
_MEMORY = re.compile(r"([0-9]{1,4})(?:\.[0-9]{1,3})?(g|gb|gib)?")
_TIMES = re.compile(r"[0-9]{1,3}x")
CHIP_TOKENS = 4  # "rtx 6000 ada", "rtx pro 6000"


def _meant(words: str, shown: str) -> tuple[list[Sku], int | None]:
    """The SKUs of the chip and form named, and the memory if the words print one. [GB]"""
    slug = _by_slug().get(words.lower())
    if slug:
        return [slug], None
    tokens = [token.lower() for token in _TOKEN.findall(_GLUED.sub(r"\1 ", words))]
    tokens = [token for token in tokens if token not in MAKERS]
    chip, rest = _chip(tokens)
    if chip is None:
        raise UnknownGpu(f"unknown GPU name {shown[:60]!r}")
    skus = [sku for sku in _by_slug().values() if sku.chip == chip]
    memories: list[int] = []
    for token, following in zip(rest, [*rest, ""][1:], strict=True):
        if token in FORMS:
            skus = [sku for sku in skus if _has_form(sku, FORMS[token])]
        elif found := _memory(token, following):
            memories.append(found)
        elif token not in SILENT and token not in ("gb", "gib", "g"):
            raise UnknownGpu(f"unknown GPU name {shown[:60]!r}: {token!r} is not understood")
    if not skus:
        raise UnknownGpu(f"unknown GPU name {shown[:60]!r}: no {chip.upper()} of that form")
    return skus, _one_of(memories, skus)


def _one_of(memories: list[int], skus: list[Sku]) -> int | None:
    """The one that such a SKU has ("480GB 96GB" of a GH200); None of "40GB/80GB". [GB]"""
    fitting = {gb for gb in memories if _of_memory(skus, Decimal(gb))}
    if len(fitting) > 1:
        return None
    return next(iter(fitting), memories[-1] if memories else None)


def _chip(tokens: list[str]) -> tuple[str | None, list[str]]:
    """The longest run of first tokens that is a chip's name, and the tokens beside it.

    "HGX H100": the board may stand before; "8x H100": so may the count.
    """
    before = list(takewhile(lambda token: token in FORMS or _TIMES.fullmatch(token), tokens))
    tokens = tokens[len(before) :]
    beside = [token for token in before if token in FORMS]
    chips = {sku.chip for sku in _by_slug().values()}
    for length in range(min(CHIP_TOKENS, len(tokens)), 0, -1):
        name = "".join(tokens[:length])
        if name in chips:
            return name, [*beside, *tokens[length:]]
    return None, tokens


def _has_form(sku: Sku, form: str) -> bool:
    return sku.form == form or (form == "sxm" and sku.form.startswith("sxm"))


def _memory(token: str, following: str) -> int | None:
    found = _MEMORY.fullmatch(token)
    if found is None or not (found[2] or following in ("gb", "gib")):
        return None
    return int(found[1])


# --- The lists --------------------------------------------------------------------------------

_SLUG = re.compile(r"([a-z0-9]+)-([a-z0-9]+)-([0-9]+)gb")


@cache
def _by_slug() -> Mapping[str, Sku]:
    return {sku.slug: sku for sku in skus_of(gpus())}


def skus_of(slugs: Iterable[str]) -> list[Sku]:
    """What each slug says; one that is not chip-form-memorygb is an error of the list."""
    skus = []
    for slug in slugs:
        found = _SLUG.fullmatch(slug)
        if found is None:
            raise ValueError(f"gpus.csv: {slug!r} is not chip-form-memorygb")
        skus.append(Sku(slug, found[1], found[2], int(found[3])))
    return skus


def _alias(folded: str, provider: str, taught: Aliases) -> str | None:
    """What people taught of these very words; else what the file says of their letters."""
    return _of(taught, provider, folded.casefold()) or _of(aliases(), provider, _key(folded))


def in_own_words(words: str, provider: str) -> bool:
    """True of a provider's own name for a GPU, which `aliases.csv` has for it alone."""
    return (provider, _key(fold(words))) in aliases()


def _of(told: Aliases, provider: str, words: str) -> str | None:
    return told.get((provider, words)) or told.get(("", words))


@cache
def aliases() -> Aliases:
    """(provider or "", words without spaces and signs) → a slug, or plainer words."""
    with ALIASES.open(encoding="utf-8", newline="") as lines:
        return {(row["provider"], _key(row["words"])): row["gpu"] for row in csv.DictReader(lines)}


def alias_key(provider: str, words: str) -> tuple[str, str]:
    """The key that taught words go by: one provider's, or with "" all of theirs."""
    return provider, fold(words).casefold()


def _key(words: str) -> str:
    return "".join(_TOKEN.findall(words)).lower()


def chip_of(slug: str) -> str:
    return _by_slug()[slug].chip


def form_of(slug: str) -> str:
    return _by_slug()[slug].form


def memory_of(slug: str) -> int:
    """Nominal memory. [GB]"""
    return _by_slug()[slug].memory_gb
