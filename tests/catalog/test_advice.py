"""Advice is made of the numbers of the estimate, in the field's words."""

from typing import Any

import pytest

from catalog import estimates
from catalog.advice import Links, _cure
from catalog.models import Workload
from scoring.workload import job_fields
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND

pytestmark = pytest.mark.django_db
JOBS = (
    "llama3-8b-decode",
    "llama3-8b-pretrain",
    "llama3-70b-pretrain",
    "gpt-1t-pretrain",
    "render-batch",
    "hpc-fft",
    "llama3-70b-decode",
    "deepseek-v3-decode",
)


@pytest.fixture(autouse=True)
def market() -> None:
    """A box with InfiniBand and one GPU alone."""
    for slug in JOBS:
        fields = dict(job_fields(slug))
        kind = str(fields.get("kind", "train"))
        Workload.objects.create(slug=slug, title=slug, kind=kind, job=fields)
    scrape(
        [
            offer("ib", "20", facts=facts("acme/ib", **INFINIBAND, gpudirect_rdma="yes")),
            offer("one", "2", facts=facts("acme/one", gpu_count=1, fabric="none")),
            offer("cards", "8", facts=facts("acme/cards", gpu="l40s-pcie-48gb", scale_up="pcie")),
        ]
    )


def ask(job: str, gpus: int) -> dict[str, Any]:
    found = estimates.answer({"workload": job, "gpus": gpus, "filter": {}})["results"]
    return {each["offer"]["instance_type"]: each for each in found}


def test_a_job_on_one_gpu_is_told_that_nvlink_and_infiniband_are_money_wasted() -> None:
    said = " ".join(ask("llama3-8b-decode", 1)["one"]["advice"])
    assert "one GPU" in said
    assert "NVLink and InfiniBand are money wasted" in said


def test_frames_that_do_not_talk_are_told_the_same_on_any_count() -> None:
    said = " ".join(ask("render-batch", 64)["ib"]["advice"])
    assert "do not talk" in said
    assert "money wasted" in said


def test_what_leaves_the_box_is_said_with_its_size() -> None:
    result = ask("gpt-1t-pretrain", 512)["ib"]
    said = " ".join(result["advice"])
    layout = result["estimate"]["layout"]
    assert f"TP {layout['tp']} stays inside the 8 GPUs" in said
    assert f"PP {layout['pp']} cuts the layers" in said
    sent = sum(c["crossing_bytes"] for c in result["estimate"]["collectives"]) / 1e9
    assert f"at least {sent:,.3g} GB over the fabric" in said
    assert f"wait {100 * result['estimate']['exposed_share']:.0f} % of the time, for" in said


def test_inside_one_box_the_fabric_is_not_used() -> None:
    assert "the fabric is not used" in " ".join(ask("llama3-8b-pretrain", 8)["ib"]["advice"])


def test_the_command_to_verify_prints_three_sizes_with_what_to_expect() -> None:
    tests = ask("llama3-70b-pretrain", 64)["ib"]["nccl_tests"]
    assert tests["command"].startswith("mpirun -np 64 -N 8 ./build/all_reduce_perf -b 1048576 ")
    assert "-f 64 -g 1" in tests["command"]
    rates = [each["bus_gbytes_per_s"] for each in tests["expect"]]
    assert len(rates) == 3
    assert rates == sorted(rates)
    assert 300 < rates[-1] < 490
    assert ask("llama3-8b-decode", 1)["one"]["nccl_tests"] is None


def test_cards_on_pcie_share_no_fast_links() -> None:
    result = ask("llama3-70b-decode", 8)["cards"]
    said = " ".join(result["advice"])
    assert result["estimate"]["layout"]["tp"] > 1
    assert "fast links" not in said
    assert "over PCIe inside the instance" in said
    assert "Nothing leaves the instance" in said


@pytest.mark.parametrize("kind", ["tp", "pp", "dp", "ep", "cp"])
def test_what_waits_inside_is_not_told_of_another_network(kind: str) -> None:
    rack, box = Links(domain=72, near=72), Links(domain=8, near=8)
    time = {f"exposed_{kind}_s": 0.05}
    purpose = {"tp": "tensor parallel", "pp": "pipeline", "dp": "data parallel",
               "ep": "expert dispatch", "cp": "context parallel"}[kind]  # fmt: skip
    sent = {"purpose": purpose, "ranks": 32, "crossing_bytes": 0.0}
    inside = {"time": time, "step_time_s": 1.0, "collectives": [sent]}
    said = " ".join(_cure(inside, rack))
    assert "fabric" not in said
    assert "network" not in said
    assert "72" not in said
    across = inside | {"collectives": [sent | {"crossing_bytes": 1e6}]}
    assert "cheaper network" in " ".join(_cure(across, box))


def test_an_expert_group_beyond_the_domain_is_told_its_size() -> None:
    sent = {"purpose": "expert dispatch", "ranks": 128, "crossing_bytes": 1e6}
    estimate = {"time": {"exposed_ep_s": 0.5}, "step_time_s": 1.0, "collectives": [sent]}
    assert "of 128 GPUs" in " ".join(_cure(estimate, Links(domain=72, near=72)))


def test_what_to_verify_is_the_collective_that_the_job_sends() -> None:
    assert ask("render-batch", 64)["ib"]["nccl_tests"] is None  # it sends nothing
    fft = ask("hpc-fft", 64)["ib"]["nccl_tests"]
    assert "-N 8 ./build/alltoall_perf" in fft["command"]
    assert fft["collective"] == "all_to_all"
    assert ask("llama3-70b-pretrain", 64)["ib"]["nccl_tests"]["collective"] == "all_reduce"


def test_a_job_that_stays_in_one_box_is_verified_on_one() -> None:
    result = ask("llama3-70b-decode", 64)["ib"]
    assert not any(sent["crossing_bytes"] for sent in result["estimate"]["collectives"])
    assert result["nccl_tests"]["command"].endswith(" -g 8")
