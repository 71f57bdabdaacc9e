"""Answers: efficiencies as defined, intervals as wide as the unknown, dollars, ranking."""

from dataclasses import replace

import pytest

from scoring import (
    Cluster,
    DoesNotFit,
    FieldError,
    Job,
    Layout,
    best,
    cluster,
    cluster_fields,
    job,
    rank,
    usd_per_mtoken,
    whole_nodes,
)
from scoring.estimate import WAITING, best_rate, estimate, search
from scoring.search import smallest_count

H100, GPT3 = cluster("dgx-h100-ndr"), job("gpt3-175b-pretrain")


def with_fields(**more):
    """The H100 reference with some of its fields changed."""
    return Cluster.from_fields({**cluster_fields("dgx-h100-ndr"), **more}, name="changed")


def test_the_terms_of_the_time_add_up_to_the_step():
    answer = best(H100, GPT3, 512)
    assert sum(answer.time.values()) == pytest.approx(answer.step_time_s)
    waiting = sum(answer.time[name] for name in WAITING)
    assert answer.exposed_share == pytest.approx(waiting / answer.step_time_s)


def test_rates_follow_from_the_step_time():
    answer = best(H100, GPT3, 512)
    assert answer.tokens_per_s == pytest.approx(1536 * 2048 / answer.step_time_s)
    tflops = GPT3.model_flop / answer.step_time_s / 512 / 1e12
    assert answer.model_tflops_per_gpu == pytest.approx(tflops)
    assert answer.mfu == pytest.approx(tflops / 989.5)


def test_scaling_efficiency_is_throughput_per_gpu_over_that_at_the_smallest_count():
    count = smallest_count(H100, GPT3, 512)
    start, here = best(H100, GPT3, count), best(H100, GPT3, 512)
    assert start.scaling_efficiency == pytest.approx(1.0)
    ratio = start.step_time_s * count / (here.step_time_s * 512)
    assert here.scaling_efficiency == pytest.approx(ratio)
    assert here.scaling == "strong"


def test_fabric_efficiency_is_throughput_over_that_in_one_domain():
    ideal = best(H100.as_one_domain(512), GPT3, 512)
    here = best(H100, GPT3, 512)
    assert here.fabric_efficiency == pytest.approx(
        min(1.0, ideal.step_time_s / here.step_time_s), rel=1e-6
    )
    assert best(H100, job("llama3-8b-pretrain"), 8).fabric_efficiency == 1.0


def test_a_slower_fabric_has_a_lower_fabric_efficiency():
    slow = best(cluster("h100-sxm-ethernet"), GPT3, 512)
    assert slow.fabric_efficiency < best(H100, GPT3, 512).fabric_efficiency - 0.05


def test_the_interval_holds_the_estimate_and_widens_with_the_unknown():
    known = best(H100, GPT3, 512)
    assert known.low_s < known.step_time_s < known.high_s
    unknown = best(with_fields(fabric_gbits_per_s=None, fabric_nics=None), GPT3, 512)
    assert unknown.low_s < unknown.step_time_s < unknown.high_s
    assert unknown.high_s / unknown.low_s > 1.2 * known.high_s / known.low_s
    assert unknown.warnings


def test_a_gpu_that_was_never_measured_has_a_wider_interval():
    known, kin = best(H100, GPT3, 512), best(cluster("mi300x-8"), GPT3, 512)
    assert kin.high_s / kin.low_s > known.high_s / known.low_s
    assert any("never measured" in warning for warning in kin.warnings)


def test_what_does_not_fit_says_what_fills_the_gpu():
    answer = best(H100, job("llama3-405b-pretrain"), 8)
    assert isinstance(answer, DoesNotFit)
    assert answer.reasons[0].startswith(
        "optimizer state 609 GB + gradients 203 GB + weights 101 GB"
    )
    assert answer.to_json()["fits"] is False


def test_what_does_not_divide_says_so():
    odd = replace(job("llama3-8b-pretrain"), global_batch=7)
    assert "no split" in best(H100, odd, 88).reasons[0]


def test_nodes_without_a_fabric_are_not_joined():
    alone = with_fields(fabric="none", fabric_nics=0, fabric_gbits_per_s=0)
    assert "no fabric" in best(alone, job("llama3-8b-pretrain"), 16).reasons[0]
    assert best(alone, job("llama3-8b-pretrain"), 8).fits


def test_a_fabric_holds_as_many_gpus_as_it_holds():
    answer = best(with_fields(max_gpus_on_one_fabric=256), GPT3, 512)
    assert answer.reasons == ("at most 256 GPUs can be had on one fabric",)


@pytest.mark.parametrize("gpus", [0, -8, 12, 10**9])
def test_a_count_that_cannot_be_is_an_error(gpus):
    with pytest.raises(FieldError) as caught:
        best(H100, GPT3, gpus)
    assert caught.value.field == "gpus"


def test_dollars():
    assert usd_per_mtoken(36.0, 1e6) == pytest.approx(0.01)
    assert usd_per_mtoken(None, 1e6) is None
    answer = best(with_fields(usd_per_hour=32), GPT3, 512)
    assert answer.usd_per_hour == 64 * 32
    assert answer.usd_lost_to_waiting_per_hour == pytest.approx(2048 * answer.exposed_share)
    assert answer.usd_per_mtoken == pytest.approx(2048 / 3.6e9 / answer.tokens_per_s * 1e6 * 1e6)


def test_the_search_is_best_first_and_its_best_is_the_estimate():
    found = search(H100, GPT3, 512, top=5)
    times = [answer.step_time_s for answer in found]
    assert times == sorted(times)
    assert times[0] == pytest.approx(best(H100, GPT3, 512).step_time_s)


def test_a_given_layout_is_kept_or_refused():
    layout = Layout.parse("tp=8,pp=8,virtual_stages=6", GPT3, 512)
    answer = estimate(H100, GPT3, 512, layout)
    assert answer.layout == layout
    assert answer.step_time_s >= best(H100, GPT3, 512).step_time_s
    refused = estimate(H100, GPT3, 512, Layout.parse("tp=1,pp=1", GPT3, 512))
    assert "as asked" in refused.reasons[0]


def test_ranking_puts_what_does_not_fit_last_and_unpriced_after_priced():
    priced = with_fields(usd_per_hour=30)
    dear = replace(priced, name="dear", usd_per_hour=60.0)
    small = cluster("l40s-pcie-8")
    order = rank([H100, dear, small, priced], GPT3, 16, "usd_per_mtoken")
    assert [isinstance(a, DoesNotFit) for a in order] == sorted(
        isinstance(a, DoesNotFit) for a in order
    )
    order = rank([H100, dear, priced], GPT3, 256, "usd_per_mtoken")
    assert [a.cluster for a in order] == ["changed", "dear", "dgx-h100-ndr"]
    with pytest.raises(FieldError):
        rank([H100], GPT3, 64, "beauty")


def test_a_gpu_of_unknown_fp64_rate_is_left_out_with_that_reason():
    answers = rank([cluster("l40s-pcie-8"), H100], job("hpc-halo"), 64)
    assert answers[0].fits
    assert answers[1].reasons == ("the fp64 rate of l40s-pcie-48gb is not known",)


def test_whole_nodes_are_rented():
    assert whole_nodes(H100, 4) == 4
    assert whole_nodes(H100, 3) == 8
    assert whole_nodes(H100, 65) == 72


def test_precision_that_the_gpu_lacks_is_a_warning():
    wanted = replace(GPT3, precision="fp8")
    answer = best(cluster("selene-a100"), wanted, 512)
    assert answer.precision == "bf16"
    assert any("fp8" in warning for warning in answer.warnings)
    assert best(H100, wanted, 512).step_time_s < best(H100, GPT3, 512).step_time_s


def test_decoding_reads_weights_and_cache_by_hand():
    # 70B in fp8 on tp 8: its weights once and one sequence's cache, at least, from 8 memories
    serving = replace(job("llama3-70b-decode"), global_batch=1, max_tpot_ms=None)
    answer = estimate(H100, serving, 8, Layout.parse("tp=8", serving, 8))
    assert answer.tpot_ms > 70.6e9 / (8 * 3.35e12) * 1e3
    assert answer.tpot_ms < 10
    assert answer.tokens_per_s == pytest.approx(1e3 / answer.tpot_ms)


def test_serving_meets_its_deadline_and_fits_the_cache():
    for slug in ("llama3-70b-decode", "deepseek-v3-decode"):
        answer = best(H100, job(slug), 32)
        assert answer.tpot_ms <= 50
        assert answer.memory_gb_per_gpu <= H100.gpu.memory_bytes / 1e9
        assert answer.ttft_ms > 0


def test_mixtures_spread_their_experts_to_serve():
    assert best(H100, job("deepseek-v3-decode"), 32).layout.ep > 8


def test_a_halo_exchange_scales_worse_on_a_slower_fabric():
    halo = job("hpc-halo")
    fast, slow = best(H100, halo, 64), best(cluster("h100-sxm-ethernet"), halo, 64)
    assert fast.scaling_efficiency > slow.scaling_efficiency
    assert slow.limited_by == "data-parallel communication"
    assert fast.tokens_per_s is None


def test_a_custom_job_by_hand():
    # memory-bound: 6.9e11 B over 16 GPUs at .8 · 3.35 TB/s; one all-reduce of nothing to say
    task = Job.from_fields({"kind": "custom", "hbm_bytes": 6.9e11, "precision": "fp64"})
    answer = best(H100, task, 16)
    compute = 6.9e11 / 16 / (0.8 * 3.35e12)
    assert answer.step_time_s == pytest.approx(compute * 1.0035)


PROMISED = {
    *("step_time_s", "tokens_per_s", "tokens_per_s_per_gpu", "model_tflops_per_gpu", "mfu"),
    *("memory_gb_per_gpu", "fits", "reasons", "layout", "time", "exposed_share"),
    *("scaling_efficiency", "fabric_efficiency", "limited_by", "collectives", "interval"),
    *("assumptions", "warnings"),
}
SPLITS = {
    *("tp", "pp", "dp", "cp", "ep", "micro_batch", "virtual_stages", "zero_stage", "recompute"),
}
TERMS = {
    *("compute_s", "exposed_tp_s", "exposed_pp_s", "bubble_s", "exposed_dp_s", "exposed_ep_s"),
    *("exposed_cp_s", "optimizer_s", "jitter_s"),
}
CALL = {"kind", "algorithm", "bytes", "ranks", "time_s", "bus_gbytes_per_s", "exposed_s"}


def test_json_has_every_promised_key():
    found = best(H100, GPT3, 512).to_json()
    assert set(found) >= PROMISED
    assert set(best(H100, GPT3, 8).to_json()) >= PROMISED
    assert set(found["layout"]) == SPLITS
    assert set(found["time"]) == TERMS
    assert set(found["collectives"][0]) >= CALL
    assert set(found["interval"]) >= {"low", "high"}
    decoding = best(H100, job("llama3-70b-decode"), 8).to_json()
    assert set(decoding) >= {"tpot_ms", "ttft_ms"}


def test_a_custom_job_across_the_fabric_is_less_certain_than_inside_a_domain():
    sum_of_all = {"kind": "all_reduce", "bytes": 1e6, "count": 1, "scaling": "fixed"}
    task = Job.from_fields({"kind": "custom", "hbm_bytes": 6.9e11, "messages": [sum_of_all]})
    inside, across = (best(H100, task, gpus) for gpus in (8, 64))
    assert across.high_s / across.low_s > 1.05 * inside.high_s / inside.low_s


DARK = {"fabric": None, "fabric_gbits_per_s": None, "fabric_nics": None, "gpudirect": None,
        "fabric_gbits_per_s_per_nic": None, "gpudirect_rdma": None}  # fmt: skip


@pytest.mark.parametrize(
    ("task", "gpus"), [("llama3-70b-decode", 8), ("llama3-8b-lora", 1), ("llama3-8b-pretrain", 8),
                       ("hpc-fft", 8), ("llama3-405b-pretrain", 8)]
)  # fmt: skip
def test_inside_one_node_no_fabric_changes_or_widens_anything(task, gpus):
    known = best(H100, job(task), gpus).to_json()
    for fabric in (DARK, DARK | {"fabric": "ethernet"}, {"oversubscription": 4}):
        other = best(with_fields(**fabric), job(task), gpus).to_json()
        assert other | {"cluster": ""} == known | {"cluster": ""}


def test_layouts_that_never_leave_their_nodes_are_as_sure_on_any_fabric():
    task = job("llama3-70b-decode")
    known, dark = best(H100, task, 64), best(with_fields(**DARK), task, 64)
    assert not any(sent["crossing_bytes"] for sent in known.collectives)
    assert (dark.low_s, dark.high_s) == pytest.approx((known.low_s, known.high_s))
    assert not any("fabric" in said for said in (*dark.warnings, *dark.assumptions))


def test_frames_that_do_not_talk_are_as_sure_on_many_nodes_as_on_one():
    one, many = (best(with_fields(**DARK), job("render-batch"), n) for n in (8, 256))
    assert many.high_s / many.step_time_s == pytest.approx(one.high_s / one.step_time_s)
    assert not many.warnings


def test_what_the_unknown_fabric_slows_widens_and_says_so():
    known, dark = best(H100, GPT3, 512), best(with_fields(**DARK), GPT3, 512)
    assert dark.high_s / dark.low_s > known.high_s / known.low_s
    assert any("fabric" in said for said in dark.warnings)
    assert any("fabric is unknown" in said for said in dark.assumptions)


def test_without_its_fabric_a_domain_takes_the_same_time():
    """So that the search for `fabric_efficiency` is made once for all fabrics of equal boxes."""
    one, other = H100.as_one_domain(512), cluster("h100-sxm-ethernet").as_one_domain(512)
    assert one.bare().unjoined() == other.bare().unjoined()
    assert best_rate(one.bare(), GPT3, 512) == best_rate(one.bare().unjoined(), GPT3, 512)
