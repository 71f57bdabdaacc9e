"""`python -m scoring`: exit codes, JSON, files of both kinds, and one sentence for bad input."""

import json

import pytest

from scoring.cli import main


def run(capsys, *arguments):
    """Exit code, what was printed, and what was complained of."""
    code = main(arguments)
    out, err = capsys.readouterr()
    return code, out, err


def answer(capsys, *arguments):
    """The JSON of a command that succeeds."""
    code, out, err = run(capsys, *arguments, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


GPT3_ON_SELENE = ("--cluster", "selene-a100", "--job", "gpt3-175b-pretrain")


def test_estimate_by_nodes_and_by_gpus_agree(capsys):
    by_nodes = answer(capsys, "estimate", *GPT3_ON_SELENE, "--nodes", "64")
    by_gpus = answer(capsys, "estimate", *GPT3_ON_SELENE, "--gpus", "512")
    assert by_nodes == by_gpus
    assert by_nodes["fits"] is True
    assert by_nodes["nodes"] == 64


def test_a_given_layout(capsys):
    layout = "tp=8,pp=8,dp=8,virtual_stages=4,micro_batch=2,recompute=selective,zero_stage=1"
    found = answer(capsys, "estimate", *GPT3_ON_SELENE, "--gpus", "512", "--layout", layout)
    assert found["layout"] == {
        "tp": 8,
        "pp": 8,
        "dp": 8,
        "cp": 1,
        "ep": 1,
        "micro_batch": 2,
        "virtual_stages": 4,
        "zero_stage": 1,
        "recompute": "selective",
    }


def test_what_does_not_fit_exits_1_with_the_reasons(capsys):
    code, out, err = run(capsys, "estimate", *GPT3_ON_SELENE, "--gpus", "8", "--json")
    assert (code, err) == (1, "")
    found = json.loads(out)
    assert found["fits"] is False
    assert "optimizer state" in found["reasons"][0]


def test_search_lists_the_best_first_and_times_itself(capsys):
    found = answer(capsys, "search", *GPT3_ON_SELENE, "--gpus", "512", "--top", "4", "--timing")
    times = [one["step_time_s"] for one in found["results"]]
    assert times == sorted(times)
    assert len(times) == 4
    assert found["step_time_s"] == times[0]
    assert found["timing"]["layouts"] > 1000
    assert 0 < found["timing"]["search_s"] < 10


def test_words_for_people(capsys):
    code, out, _ = run(capsys, "estimate", *GPT3_ON_SELENE, "--gpus", "512")
    assert code == 0
    assert "limited by" in out
    assert "fits in" in out


def test_collective(capsys):
    found = answer(
        capsys,
        *("collective", "all_reduce", "--cluster", "dgx-h100-ndr"),
        *("--ranks", "8", "--bytes", "4e9"),
    )
    assert found["algorithm"] == "nvls"
    assert found["bus_gbytes_per_s"] == pytest.approx(2 * 7 / 8 * 4e9 / found["time_s"] / 1e9)
    alone = answer(
        capsys,
        *("collective", "all_gather", "--cluster", "dgx-h100-ndr", "--ranks", "1", "--bytes", "8"),
    )
    assert alone["time_s"] == 0


@pytest.mark.parametrize("kind", ["cluster", "job"])
def test_an_example_is_a_file_that_works(capsys, tmp_path, kind):
    code, out, _ = run(capsys, "estimate", "--example", kind)
    assert code == 0
    path = tmp_path / f"{kind}.json"
    path.write_text(out, encoding="utf-8")
    slugs = {"cluster": "dgx-h100-ndr", "job": "llama3-70b-pretrain"}
    chosen = {**slugs, kind: str(path)}
    given = [part for name, value in chosen.items() for part in (f"--{name}", value)]
    found = answer(capsys, "estimate", *given, "--gpus", "64")
    plain = [part for name, value in slugs.items() for part in (f"--{name}", value)]
    if kind == "cluster":
        same = answer(capsys, "estimate", *plain, "--gpus", "64")
        assert found["step_time_s"] == same["step_time_s"]


def test_toml_files(capsys, tmp_path):
    cluster = tmp_path / "mine.toml"
    cluster.write_text('gpu = "l40s-pcie-48gb"\ngpu_count = 4\nfabric = "none"\n', encoding="utf-8")
    found = answer(
        capsys, "estimate", "--cluster", str(cluster), "--job", "llama3-8b-pretrain", "--gpus", "4"
    )
    assert found["cluster"] == "mine"


JOB = ("--job", "llama3-8b-pretrain")
CLUSTER = ("--cluster", "dgx-h100-ndr")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((), "arguments"),
        (("dance",), "arguments"),
        (("estimate", *JOB, "--gpus", "8"), "cluster"),
        (("estimate", *CLUSTER, "--gpus", "8"), "job"),
        (("estimate", *CLUSTER, *JOB), "gpus"),
        (("estimate", *CLUSTER, *JOB, "--gpus", "8", "--nodes", "1"), "arguments"),
        (("estimate", *CLUSTER, *JOB, "--gpus", "12"), "gpus"),
        (("estimate", *CLUSTER, *JOB, "--gpus", "many"), "gpus"),
        (("estimate", *CLUSTER, *JOB, "--gpus", "nan"), "gpus"),
        (("estimate", *CLUSTER, *JOB, "--nodes", "-1"), "nodes"),
        (("estimate", *CLUSTER, *JOB, "--nodes", "1e30"), "nodes"),
        (("estimate", "--cluster", "dgx-h100", *JOB, "--gpus", "8"), "cluster"),
        (("estimate", "--cluster", "\0", *JOB, "--gpus", "8"), "cluster"),
        (("estimate", *CLUSTER, "--job", "gpt5", "--gpus", "8"), "job"),
        (("estimate", *CLUSTER, *JOB, "--gpus", "8", "--layout", "tp=3"), "layout"),
        (("estimate", *CLUSTER, *JOB, "--gpus", "8", "--layout", "warp=3"), "layout.warp"),
        (("estimate", *CLUSTER, "--job", "hpc-halo", "--gpus", "8", "--layout", "tp=8"), "layout"),
        (("search", *CLUSTER, *JOB, "--gpus", "8", "--top", "0"), "top"),
        (("collective", "gossip", *CLUSTER, "--ranks", "8", "--bytes", "8"), "kind"),
        (("collective", "all_reduce", *CLUSTER, "--bytes", "8"), "ranks"),
        (("collective", "all_reduce", *CLUSTER, "--ranks", "8", "--bytes", "inf"), "bytes"),
        (("validate", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_bad_input_is_one_sentence_that_names_the_field(capsys, arguments, field):
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(f"{field}: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{", "bad.json"),
        ("[1, 2]", "bad.json"),
        ("gpu = ", "bad.json"),
        ('{"gpu": "h100-sxm5-80gb", "gpu_count": NaN}', "gpu_count"),
        ('{"gpu": "h100-sxm5-80gb", "gpu_count": 1e999}', "gpu_count"),
        ('{"gpu": "h100-sxm5-80gb", "colour": "green"}', "colour"),
        ('{"gpu": ["h100"]}', "gpu"),
        ("{" + '"a":{' * 5000, "bad.json"),
        ("\x00\x01", "bad.json"),
    ],
)
def test_a_bad_file_names_the_field_or_the_file(capsys, tmp_path, text, field):
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    code, _, err = run(capsys, "estimate", "--cluster", str(path), *JOB, "--gpus", "8")
    assert code == 2
    assert err.startswith(f"{field}: ")
    assert err.count("\n") == 1


def test_a_file_that_is_not_text_is_refused(capsys, tmp_path):
    path = tmp_path / "bytes.toml"
    path.write_bytes(b"\xff\xfe\x00")
    code, _, err = run(capsys, "estimate", "--cluster", str(path), *JOB, "--gpus", "8")
    assert (code, err.startswith("bytes.toml: ")) == (2, True)
