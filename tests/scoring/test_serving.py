"""What a cluster can be made to do: curves that nothing beats, and two pools that keep up."""

import json
from dataclasses import replace

import pytest

from scoring.cli import main
from scoring.decode import token_time
from scoring.fields import FieldError
from scoring.hardware import cluster
from scoring.layout import Layout
from scoring.prefill import prefill_time
from scoring.serving import Pools, balanced_pools, cache_copy_time, pareto, serve, serve_pools
from scoring.transformers import shape
from scoring.workload import Job, job

DEEPSEEK = Job(
    name="chat",
    kind="decode",
    precision="fp8",
    model=shape("deepseek-v3"),
    seq_len=2048,
    prompt_len=1024,
    output_len=1024,
)
PLACES = (("gb200-nvl72", 4), ("dgx-b200-ndr", 8), ("gb200-nvl72", 72))


@pytest.mark.parametrize(("slug", "gpus"), PLACES)
def test_no_point_of_a_curve_is_beaten_by_another(slug, gpus):
    points = pareto(cluster(slug), replace(DEEPSEEK, precision="nvfp4"), gpus)
    assert len(points) > 10
    times = [p.token_s for p in points]
    rates = [p.tokens_per_s_per_gpu for p in points]
    assert times == sorted(times)
    assert rates == sorted(rates)
    assert points[0].tokens_per_s_per_user == pytest.approx(1.0 / times[0])


def test_a_larger_domain_yields_more_at_the_same_speed():
    def best_within(slug, gpus, token_ms):
        points = pareto(cluster(slug), replace(DEEPSEEK, max_tpot_ms=token_ms), gpus)
        return max((p.tokens_per_s_per_gpu for p in points), default=0.0)

    four, eight, rack = (best_within(slug, gpus, 30.0) for slug, gpus in PLACES)
    assert four < eight < rack
    assert rack > 1.5 * eight  # 64 ranks hold 4 experts each, 8 hold 32


def test_gpus_beyond_a_power_of_two_may_idle_and_are_paid_for():
    points = pareto(cluster("gb200-nvl72"), DEEPSEEK, 72)
    used = {int(p.layout.gpus) for p in points}
    assert used == {64, 72}
    idle = next(p for p in points if p.layout.gpus == 64)
    alone = serve(cluster("gb200-nvl72"), DEEPSEEK, idle.layout)
    assert idle.tokens_per_s_per_gpu == pytest.approx(alone.tokens_per_s_per_gpu * 64 / 72)


def test_a_limit_on_the_time_per_token_cuts_the_curve():
    where, within = cluster("dgx-b200-ndr"), replace(DEEPSEEK, max_tpot_ms=25.0)
    assert max(p.token_s for p in pareto(where, within, 8)) <= 0.025
    assert pareto(where, replace(DEEPSEEK, max_tpot_ms=0.1), 8) == []


def test_the_first_token_waits_longer_the_busier_the_replica():
    where = cluster("dgx-b200-ndr")
    layouts = [Layout(tp=8.0, micro_batch=q) for q in (1.0, 16.0, 256.0)]
    first = [float(serve(where, DEEPSEEK, x).first_token_s) for x in layouts]
    assert first == sorted(first)
    assert first[0] > float(prefill_time(where, DEEPSEEK, layouts[0]))


def test_pools_decode_undisturbed_at_the_pace_of_the_slower_one():
    where = cluster("dgx-h100-ndr")
    small = replace(DEEPSEEK, model=shape("llama3-70b"))
    one, worker = Layout(tp=4.0), Layout(tp=4.0, micro_batch=64.0)
    few, more, many = (serve_pools(where, small, Pools(one, n, worker, 1)) for n in (1, 8, 64))
    undisturbed = token_time(where, replace(small, output_len=0), worker).total
    assert few.token_s == pytest.approx(undisturbed)
    assert few.token_s < serve(where, small, worker).token_s
    rates = [p.tokens_per_s_per_gpu * (4 * n + 4) for p, n in ((few, 1), (more, 8), (many, 64))]
    assert rates[0] <= rates[1] == pytest.approx(rates[2])  # decoding is the slower one
    assert rates[2] == pytest.approx(64 / undisturbed)


def test_the_cache_crosses_the_fabric_between_pools():
    near, far = cluster("gb200-nvl72"), cluster("dgx-h100-ndr")
    pools = Pools(Layout(tp=8.0), 2, Layout(tp=8.0), 2)
    assert cache_copy_time(near, DEEPSEEK, pools) < cache_copy_time(far, DEEPSEEK, pools)
    longer = replace(DEEPSEEK, prompt_len=16384)
    assert cache_copy_time(far, longer, pools) > 4 * cache_copy_time(far, DEEPSEEK, pools)
    with pytest.raises(FieldError, match="prompt_len"):
        serve_pools(far, replace(DEEPSEEK, output_len=0), pools)


def test_pools_are_shared_out_so_that_both_keep_up():
    job_ = replace(DEEPSEEK, max_tpot_ms=50.0)
    found = balanced_pools(cluster("gb200-nvl72"), job_, 72)
    assert found is not None
    pools, served = found
    assert pools.gpus <= 72
    assert served.token_s <= 0.05
    # Long prompts need a larger share of readers.
    longer = balanced_pools(cluster("gb200-nvl72"), replace(job_, prompt_len=8192), 72)
    share = [p.prompt_workers * p.prompt.gpus / p.gpus for p in (pools, longer[0])]
    assert share[0] < share[1]


def test_the_command_prints_the_curve(capsys):
    arguments = ["pareto", "--cluster", "dgx-b200-ndr", "--job", "llama3-70b-decode"]
    assert main([*arguments, "--gpus", "8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["points"] == [
        p.as_json() for p in pareto(cluster("dgx-b200-ndr"), job("llama3-70b-decode"), 8)
    ]
    assert main([*arguments, "--gpus", "8"]) == 0
    assert "tokens/s/GPU" in capsys.readouterr().out
    assert main([*arguments[:3], "--job", "llama3-70b-pretrain", "--gpus", "8"]) == 2
    assert capsys.readouterr().err.startswith("job: ")
