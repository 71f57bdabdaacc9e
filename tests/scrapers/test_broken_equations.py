"""One figure of a recorded row is changed so that an equation breaks: that row alone is held.

Each line: provider, its recording, the place of the figure (in a page or table, the words), what
is written there, and the equation in words that the quarantine then shows.
"""

import json
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from recorded import FETCHED, document, recorded, recording

from catalog.models import Offer, QuarantinedRow, RunState
from catalog.records import Gate, Normalised
from scrapers import leases, reading, runs
from scrapers.__main__ import main
from scrapers.normalise import offers
from scrapers.registry import PROVIDERS

Place = tuple[str | int, ...] | bytes
MEMORY = "count × memory = total: "
NICS = "NICs × rate = total: "
P4D = ("InstanceTypes", 1)
CARDS = [{"BaselineBandwidthInGbps": 50}] * 4

BROKEN: Sequence[tuple[str, str, Place, Any, str]] = [
    # memory of one GPU
    ("shadeform", "shadeform", ("instance_types", 1, "configuration", "vram_per_gpu_in_gb"), 320,
     MEMORY + "8 × 320 GB is not 8 × 80 GB of H100 sxm5"),
    ("primeintellect", "primeintellect", ("items", 0, "gpuMemory"), 320,
     MEMORY + "4 × 320 GB is not 4 × 80 GB of H100 SXM5"),
    ("runpod", "runpod", ("data", "gpuTypes", 0, "memoryInGb"), 141,
     " × 80 GB of NVIDIA H100 80GB HBM3"),
    ("jarvislabs", "jarvislabs", ("server_meta", 2, "vram"), "141", " GB is not "),
    ("nebius", "nebius_platforms", ("items", 0, "spec", "gpu_memory_gigabytes"), 80,
     " × 80 GB is not "),
    ("vultr", "vultr", ("plans", 1, "gpu_vram_gb"), 100,
     MEMORY + "1 × 100 GB is not 1 × 40 or 80 GB of NVIDIA A100"),
    ("scaleway", "scaleway_servers", ("servers", "L4-1-24G", "gpu_info", "gpu_memory"), 48 * 10**9,
     MEMORY + "1 × 48 GB is not 1 × 24 GB of L4"),
    ("coreweave", "coreweave", b"<div>186</div>", b"<div>372</div>",
     MEMORY + "4 × 372 GB is not 4 × 186 GB of "),
    ("ovh", "ovh", ("addons", 0, "blobs", "technical", "gpu", "memory", "size"), 160,
     MEMORY + "2 × 160 GB is not 2 × 80 or 94 GB of H100"),
    ("aws", "aws", (*P4D, "GpuInfo"),
     {"Gpus": [{"Name": "A100", "Count": 8, "MemoryInfo": {"SizeInMiB": 81920}}]},
     MEMORY + "8 × 85.9 GB is not 8 × 40 GB of A100 SXM4 40GB"),
    ("skypilot", "skypilot", b"'MemoryInfo': {'SizeInMiB': 48}", b"'MemoryInfo': {'SizeInMiB': 80}",
     MEMORY + "1 × 85.9 GB is not 1 × 48 GB of A6000"),
    # memory that the name itself prints
    ("hyperstack", "hyperstack", ("data", 0, "flavors", 0, "gpu"), "H100-320G-SXM5", "has 320 GB"),
    ("tensordock", "tensordock", ("data", "locations", 0, "gpus", 0, "displayName"),
     "NVIDIA H100 SXM5 320GB", "no H100 that we know has 320 GB"),
    ("voltagepark", "voltagepark", ("results", 0, "specs_per_node", "gpu_model"), "h100-sxm5-320gb",
     "no H100 that we know has 320 GB"),
    ("lambda", "lambda", ("data", "gpu_8x_h100_sxm5", "instance_type", "gpu_description"),
     "H100 (320 GB SXM5)", "no H100 that we know has 320 GB"),
    # the total, and the count
    ("verda", "verda", ("instance_types", 0, "gpu_memory", "size_in_gigabytes"), 80,
     MEMORY + "80 GB is not 8 × 80 GB of H100 SXM5 80GB"),
    ("verda", "verda", ("instance_types", 0, "gpu", "number_of_gpus"), 4,
     MEMORY + "640 GB is not 4 × 80 GB of H100 SXM5 80GB"),
    ("digitalocean", "digitalocean", ("sizes", 5, "gpu_info", "count"), 4,
     MEMORY + "1128 GiB is not 4 × 141 GB of nvidia h200"),
    ("digitalocean", "digitalocean", ("sizes", 5, "gpu_info", "vram", "amount"), 141,
     MEMORY + "141 GiB is not 8 × 141 GB of nvidia h200 SXM"),
    ("vast", "vast", ("offers", 0, "gpu_total_ram"), 326236,
     MEMORY + "the total GPU memory, 326236 MiB, is not 8 x 81559 MiB"),
    ("vast", "vast", ("offers", 0, "num_gpus"), 6, "is not 6 x 81559 MiB"),
    ("aws", "aws", (*P4D, "GpuInfo", "TotalGpuMemoryInMiB"), 163840,
     MEMORY + "the total GPU memory, 163840 MiB, is not 8 x 40960 MiB"),
    # NICs and their rate
    ("aws", "aws", (*P4D, "NetworkInfo"),
     {"EfaSupported": True, "NetworkPerformance": "8x 400 Gigabit",
      "EfaInfo": {"MaximumEfaInterfaces": 5}},
     NICS + "5 × 400 Gb/s is 2000 Gb/s, not 3200 Gb/s"),
    ("aws", "aws", (*P4D, "NetworkInfo", "NetworkCards"), CARDS,
     NICS + "4 × 50 Gb/s of NetworkCards is not 400 Gb/s"),
    ("aws", "aws", (*P4D, "NetworkInfo", "NetworkPerformance"), "12800 Gigabit",
     NICS + "4 × 800 Gb/s, the fastest NIC, is less than 12800 Gb/s"),
    ("oci", "oci_shapes", ("items", 1, "maxNetworkBandwidth"), "1 x 50 Gbps 8 x 1600 Gbps RDMA",
     "rate ≤ port: no NIC has 1600 Gb/s, the fastest has 800 Gb/s"),
    # a link
    ("vast", "vast", ("offers", 0, "bw_nvlink"), 9000,
     "bw_nvlink 9000 GB/s: no NVLink is faster than the 900 GB/s of h100-sxm5-80gb"),
]  # fmt: skip
CASES = pytest.mark.parametrize(
    ("slug", "name", "place", "figure", "sentence"),
    BROKEN,
    ids=[f"{case[0]}-{n}" for n, case in enumerate(BROKEN)],
)
BESIDE = {"oci_shapes": ("oci",)}  # the price list that has what the recording lacks


def broken(name: str, place: Place, figure: Any) -> bytes:
    """The recording with `figure` in its place."""
    body = recording(name).read_bytes()
    if isinstance(place, bytes):
        assert place in body
        return body.replace(place, figure)
    value = json.loads(body)
    if name == "verda" and isinstance(value, list):
        place = place[1:]
    row: Any = value
    for step in place[:-1]:
        row = row[step]
    assert row.get(place[-1]) != figure
    row[place[-1]] = deepcopy(figure)
    return json.dumps(value).encode()


def read(slug: str, name: str, body: bytes) -> Normalised:
    beside = [recorded(other) for other in BESIDE.get(name, ())]
    return offers(PROVIDERS[slug], [*beside, document(body, recorded(name).url)], {})


@CASES
def test_the_row_is_held_with_its_equation_and_all_others_are_as_before(
    slug: str, name: str, place: Place, figure: Any, sentence: str
) -> None:
    usual = read(slug, name, recording(name).read_bytes())
    found = read(slug, name, broken(name, place, figure))
    before = {(row.where, row.reason) for row in usual.rejected}
    held = [row for row in found.rejected if (row.where, row.reason) not in before]
    assert held
    for row in held:
        assert sentence in row.reason
        assert row.gate is Gate.FIGURES  # which a person may let through
    there = {offer.identity: offer for offer in found.offers}
    gone = [offer for offer in usual.offers if offer.identity not in there]
    assert gone
    assert {i for row in held for i in row.identities}.isdisjoint(there)
    for offer in usual.offers:
        if offer not in gone:
            same = there[offer.identity]
            assert (same.facts, same.native_amount) == (offer.facts, offer.native_amount)


@CASES
def test_it_is_so_at_the_door_of_parse(
    slug: str, name: str, place: Place, figure: Any, sentence: str,
    tmp_path: Path, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    file = tmp_path / recording(name).name
    file.write_bytes(broken(name, place, figure))
    assert main(["parse", slug, str(file)]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert any(sentence in line["reason"] for line in lines if line["kind"] == "rejected")


@pytest.mark.django_db
@CASES
def test_it_is_so_at_the_door_of_scrape(
    slug: str, name: str, place: Place, figure: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "ask_child", reading.answer)
    leases.register(PROVIDERS.values())
    body = broken(name, place, figure)
    summary = runs.scrape_file(slug, body, FETCHED)
    assert summary.state in (RunState.PUBLISHED, RunState.UNCHANGED)
    assert QuarantinedRow.objects.filter(reason__contains=sentence).exists()
    offered = {
        offer.instance_type for offer in offers(PROVIDERS[slug], [document(body)], {}).offers
    }
    listed = Offer.objects.filter(listed_by=slug).values_list("instance_type__name", flat=True)
    assert set(listed) == offered
