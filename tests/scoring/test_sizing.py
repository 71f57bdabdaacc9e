"""The fewest GPUs that are fast enough, held against every count below."""

import pytest

import scoring
from scoring.sizing import fewest_gpus, replica_gpus

CASES = [
    ("dgx-h100-ndr", "llama3-70b-pretrain", 0.046),
    ("aws-p5", "llama3-405b-pretrain", 0.005),
    ("l40s-pcie-8", "llama3-8b-pretrain", 0.009),
    ("mi300x-8", "llama3-70b-decode", 100_000.0),
    ("dgx-h100-ndr", "hpc-halo", 100.0),
]


def useful(cluster: scoring.Cluster, job: scoring.Job, gpus: int) -> float:
    """Throughput of a count after failures."""
    found = scoring.best(cluster, job, gpus)
    if not isinstance(found, scoring.Estimate):
        return 0.0
    copy = replica_gpus(job, found.layout.as_json())
    share = scoring.goodput(job, gpus, cluster.gpu_count, replica_gpus=copy).share
    return (found.tokens_per_s or 0.0 if job.kind == "decode" else 1 / found.step_time_s) * share


@pytest.mark.parametrize(("slug", "work", "needed"), CASES)
def test_no_smaller_count_of_whole_nodes_is_enough(slug: str, work: str, needed: float) -> None:
    cluster, job = scoring.cluster(slug), scoring.job(work)
    found = fewest_gpus(cluster, job, needed)
    assert found is not None
    assert found.enough
    assert useful(cluster, job, found.gpus) == pytest.approx(found.useful_rate)
    fewer = range(cluster.gpu_count, found.gpus * 31 // 32, cluster.gpu_count)
    assert all(useful(cluster, job, gpus) < needed for gpus in fewer)


def test_where_nothing_is_enough_the_fastest_is_named() -> None:
    cluster, job = scoring.cluster("dgx-h100-ndr"), scoring.job("llama3-8b-pretrain")
    found = fewest_gpus(cluster, job, 1.0, most=64)
    assert found is not None
    assert (found.gpus, found.enough) == (64, False)


def test_where_the_job_never_fits_there_is_no_size() -> None:
    assert (
        fewest_gpus(scoring.cluster("dgx-h100-ndr"), scoring.job("gpt-1t-pretrain"), 0, most=8)
        is None
    )


def test_without_a_wish_for_speed_it_is_what_the_job_fits_on() -> None:
    found = fewest_gpus(scoring.cluster("dgx-h100-ndr"), scoring.job("llama3-8b-pretrain"), 0)
    assert found is not None
    assert (found.gpus, found.enough) == (2, True)
