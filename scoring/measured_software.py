"""The software that a measured row ran: a name and a date, and the generation that they make.

A framework's name holds a family ("NVIDIA NeMo Framework Release 24.09", "Megatron-LM 2022") and,
mostly, a date: the month of a container, or a year. Of the family's generations in constants.toml
the last that had begun by then is taken; what is newer than the last known is the newest. A
benchmark's round or a model's name says nothing of software.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from scoring.constants import SOFTWARE
from scoring.gpus import gpus
from scoring.machines import gpu_slug
from scoring.measured_shapes import is_encoder

UNKNOWN = ""  # the family of a framework that no name is known of
MONTH = re.compile(r"(?<![\d.])(?:20)?(2\d)\.(0[1-9]|1[0-2])(?!\d)")  # "24.09", "2026.08"
YEAR = re.compile(r"(?<![\d.])(20[12]\d)(?![\d.]\d)")  # "Megatron-LM 2021", "2022-02"
UNMASKED_BEFORE = 2025.5  # counts of flop: see `counts_whole_attention`


@dataclass(frozen=True, slots=True)
class Framework:
    """What a name says: the family, and when: a year and its part; None where it does not."""

    family: str
    date: float | None


@dataclass(frozen=True, slots=True)
class Choice:
    """The profile of constants.toml for a row, and what was taken for granted to choose it."""

    profile: str
    warnings: tuple[str, ...] = ()


def framework_of(text: str) -> Framework:
    """Family and date of a framework's name, however it is spelled and whatever stands beside it.

    The longest known name within it: "PyTorch 2.5, FSDP2" is of FSDP's family. The latest month, or
    of a year alone its last one: what is published of a year is seldom of the year before.
    """
    said = text.lower()
    found = [name for name in _families() if re.search(rf"(?<![a-z]){name}(?![a-z])", said)]
    family = _families()[max(found, key=len)] if found else UNKNOWN
    months = [2000.0 + int(y) + (int(m) - 1) / 12 for y, m in MONTH.findall(said)]
    years = [int(year) + 11 / 12 for year in YEAR.findall(said)]
    return Framework(family, max(months or years, default=None))


@cache
def _families() -> Mapping[str, str]:
    """Every known name of a framework, and its family."""
    return {name: software.family for software in SOFTWARE.values() for name in software.names}


def software_of(framework: str, kernels: str = "", *, encoder: bool = False) -> Choice:
    """The profile for a framework's name on a family of GPUs.

    Parameters
    ----------
    kernels
        `Gpu.family_name`: some generations were written for some chips.
    encoder
        True for a model that reads whole sequences at once: such runs pack rows without padding.
    """
    named = framework_of(framework)
    family = "encoder" if encoder else named.family
    fitting = {
        name: software
        for name, software in SOFTWARE.items()
        if software.family == family and (not software.kernels or kernels in software.kernels)
    }
    if family == UNKNOWN:
        # A profile written for these chips comes before one for all.
        profile = max(fitting, key=lambda name: bool(fitting[name].kernels))
        return Choice(profile, (f"framework {framework[:60]!r} is not known: {profile} stands in",))
    if named.date is None:
        usual = max(fitting, key=lambda name: (fitting[name].usual, bool(fitting[name].kernels)))
        several = len({s.since for s in fitting.values()}) > 1
        note = f"version of {framework[:60]!r} is not stated: {usual} stands in"
        return Choice(usual, (note,) if several else ())
    begun = {n: s for n, s in fitting.items() if s.since <= named.date + 1e-6} or fitting
    last = max if begun is not fitting else min  # older than the first is the first
    chosen = last(begun, key=lambda name: (begun[name].since, bool(begun[name].kernels)))
    return Choice(chosen)


def software_of_row(row: Mapping[str, str]) -> Choice:
    """The profile of a row: of its framework, its GPU, and whether its model is an encoder."""
    part = gpus().get(gpu_slug(row) or "")
    kernels = part.family_name if part else ""
    return software_of(row.get("framework", ""), kernels, encoder=is_encoder(row))


def counts_whole_attention(framework: str) -> bool:
    """True where a rate in flop counts attention without its mask.

    NeMo, Megatron-LM and torchtitan did until 2025: 12 s/h in nemo/utils/flops_formulas.py,
    seq/hidden in num_floating_point_operations, 12 l a d s.
    """
    named = framework_of(framework)
    known = named.family in ("megatron", "torchtitan")
    return known and (named.date or 0.0) < UNMASKED_BEFORE
