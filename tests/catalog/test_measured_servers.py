"""The bundled catalog against servers that somebody rented and looked into: an independent check.

`nvidia-smi` prints the card's name, which says its form, and the number of GPUs; `nvbandwidth` the
rate between two of them, and waives its tests where they cannot reach each other. Skipped where
../shared is absent.
"""

import csv
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from catalog.known import Spec
from catalog.records import NVLINK
from tests.catalog.test_data import types

SEEN = Path(__file__).parents[3] / "shared/data/payloads/interconnect_measured/summary.csv"
FORMS = {
    r"SXM2": "sxm2",
    r"SXM4": "sxm4",
    r"PCI[Ee]": "pcie",
    r"NVL$": "nvl",
    r"H100 80GB HBM3$|H200$": "sxm5",  # the names by which the SXM boards report
    r"B200$": "sxm6",
}


def servers() -> Iterator[tuple[str, dict[str, str], Spec]]:
    """Each whole-GPU server that is in the catalog, with what was seen and what is known of it."""
    with SEEN.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            provider = {"alicloud": "alibaba"}.get(row["vendor"], row["vendor"])
            subject = f"{provider}/{row['server']}"
            if subject in types() and row["virtualization"] != "VGPU":
                yield subject, row, types()[subject]


pytestmark = pytest.mark.skipif(not SEEN.exists(), reason="../shared is absent")


def test_most_of_the_servers_are_in_the_catalog() -> None:
    assert len(list(servers())) > 100


def test_the_form_is_the_one_that_the_card_names() -> None:
    named = 0
    for subject, row, known in servers():
        for words, form in FORMS.items():
            if re.search(words, row["product_name"]):
                named += 1
                assert known["form_factor"] == form, subject
    assert named > 30


def test_the_gpus_are_as_many_as_were_listed() -> None:
    for subject, row, known in servers():
        if "Q" not in row["product_name"].rsplit("-", 1)[-1]:  # NVIDIA L4-6Q: a slice of one
            assert known["gpu_count"] == int(row["gpu_count"]), subject


def test_a_pair_is_no_faster_than_its_links_and_nvlink_no_slower_than_a_quarter() -> None:
    pairs = 0
    for subject, row, known in servers():
        nominal = known.number("scale_up_pair_gbytes_per_s")
        if row["d2d_read_gbps_max"] and known["scale_up"] in NVLINK and nominal:
            pairs += 1
            least, most = Decimal(row["d2d_read_gbps_min"]), Decimal(row["d2d_read_gbps_max"])
            assert nominal / 4 < least <= most < nominal, subject
    assert pairs > 10
