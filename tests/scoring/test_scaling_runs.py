"""Published runs of one job on several counts: whose they are, and what a GPU of them kept."""

import pytest

import scoring
from scoring.scaling_runs import UNITS, _per_gpu, _series

H100 = ("h100-sxm5-80gb", "infiniband", 400.0)


def test_a_run_is_held_against_the_fewest_gpus_of_its_series() -> None:
    runs = scoring.scaling_runs(scoring.job("llama3-70b-lora"), *H100)
    shares = {run["gpus"]: run["share"] for run in runs}
    assert shares[8] == 1
    assert shares[64] == pytest.approx(14.777 / 64 / (2.183 / 8))
    assert {run["against_gpus"] for run in runs} == {8}


def test_it_is_of_such_a_job_on_such_gpus_and_such_a_fabric_alone() -> None:
    lora = scoring.job("llama3-70b-lora")
    for gpu, fabric, rate in (
        ("h200-sxm5-141gb", "infiniband", 400.0),
        ("h100-sxm5-80gb", "roce", 400.0),
        ("h100-sxm5-80gb", "infiniband", 200.0),
        ("h100-sxm5-80gb", None, None),
    ):
        assert scoring.scaling_runs(lora, gpu, fabric, rate) == []
    assert scoring.scaling_runs(scoring.job("llama3-70b-pretrain"), *H100) == [], "another kind"
    assert scoring.scaling_runs(scoring.job("hpc-halo"), *H100) == [], "no transformer"


@pytest.mark.parametrize(
    ("amount", "unit"), [(2.0, "tokens/s/GPU"), (16.0, "sequences/s"), (0.5, "s/step")]
)
def test_what_is_printed_is_work_of_one_gpu(amount: float, unit: str) -> None:
    assert _per_gpu(amount, unit, gpus=8, batch=8) == 2


def test_a_series_is_one_submitter_s_in_one_unit_with_a_source() -> None:
    for _key, runs in _series():
        assert len({(run["series"], run["unit"], run["source"]) for run in runs}) == 1
        counts = [run["gpus"] for run in runs]
        assert len(counts) > 1, "one count says nothing of scaling"
        assert counts == sorted(set(counts))
        assert all(run["unit"] in UNITS and run["source"].startswith("https://") for run in runs)
