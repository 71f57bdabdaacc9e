"""`fabricscout` in a shell, against the running service."""

import csv
import io
import json
import re

import pytest

from fabricscout.cli import read

FILTER = (
    "--nvlink", "--infiniband", "--continent", "europe", "--gpu", "h100-sxm5-80gb", "--gpus-min",
    "8", "--price-model", "on_demand", "--sort", "-usd_per_gpu_hour", "--rows", "region",
)  # fmt: skip


# --- Three forms of one answer ------------------------------------------------------------------


def test_table_csv_and_json_have_the_same_rows(fabricscout):
    table, sheet, whole = (
        fabricscout("offers", *FILTER, *form) for form in ((), ("--csv",), ("--json",))
    )
    offers = json.loads(whole.stdout)["results"]
    rows = [*csv.DictReader(io.StringIO(sheet.stdout))]
    names = [offer["instance_type"] for offer in offers]
    assert len(names) > 3
    assert [row["instance_type"] for row in rows] == names
    assert [line.split()[1] for line in table.stdout.splitlines()[1:]] == names
    assert {offer["fabric"] for offer in offers} == {"infiniband"}
    prices = [float(offer["usd_per_gpu_hour"]) for offer in offers]
    assert prices == sorted(prices, reverse=True)
    assert (table.returncode, sheet.returncode, whole.returncode) == (0, 0, 0)


def test_a_table_is_as_long_as_one_reads_and_says_so(fabricscout):
    found = fabricscout("offers")
    assert len(found.stdout.splitlines()) == 1 + 50
    assert "the first 50 of more" in found.stderr
    assert len(fabricscout("offers", "--limit", "3").stdout.splitlines()) == 1 + 3
    assert len(fabricscout("offers", "--csv").stdout.splitlines()) > 500


def test_unknown_and_unpublished_are_words_in_a_table_and_empty_in_csv(fabricscout):
    asked = ("offers", "--provider", "lambda", "--price-model", "quote")
    table = fabricscout(*asked).stdout
    assert "not published" in table
    assert "unknown" in table
    (*_, row) = csv.DictReader(io.StringIO(fabricscout(*asked, "--csv").stdout))
    assert row["usd_per_gpu_hour"] == ""


def test_what_an_unknown_kept_out_is_said_beside_the_table(fabricscout):
    found = fabricscout("offers", "--infiniband", "--limit", "1")
    assert "left out by an unknown (infiniband" in found.stderr
    assert "left out" not in found.stdout


# --- The commands -----------------------------------------------------------------------------


def test_facts_have_basis_source_and_date_and_an_unknown_is_said(fabricscout):
    found = fabricscout("facts", "azure/Standard_ND96isr_H100_v5").stdout.splitlines()
    (fabric,) = (line.split() for line in found if line.startswith("fabric "))
    assert fabric[1:4] == ["infiniband", "-", "documented"]
    assert fabric[-1].startswith("https://")
    (rails,) = (line for line in found if line.startswith("rail_optimised"))
    assert "unknown" in rails
    assert rails.endswith("nobody says")


def test_what_is_known_of_parts_or_was_looked_for_is_no_unknown(fabricscout):
    """CoreWeave says SHARP of its InfiniBand nodes alone; of verda's RDMA a source says nothing."""
    sharp = ("coreweave/gd-8xa100-i128", "sharp", "in some cases (1 claim)")
    rdma = ("verda/4A100.88V", "gpudirect_rdma", "not found")
    for subject, attribute, word in (sharp, rdma):
        lines = fabricscout("facts", subject).stdout.splitlines()[1:]
        (line,) = (each for each in lines if each.split()[0] == attribute)
        assert re.split("  +", line)[1] == word
        unknown = [each for each in lines if re.split("  +", each)[1] == "unknown"]
        assert unknown
        assert all(each.endswith("nobody says") for each in unknown)
    side_by_side = fabricscout("compare", sharp[0], "azure/Standard_ND96isr_H100_v5").stdout
    (line,) = (each for each in side_by_side.splitlines() if each.startswith("sharp "))
    assert re.split("  +", line) == ["sharp", "-", "in some cases (1 claim)", "yes"]


def test_facts_of_a_gpu_are_the_lines_of_its_ledger(fabricscout):
    found = json.loads(fabricscout("facts", "h100-sxm5-80gb", "--json").stdout)["results"]
    assert {fact["subject"] for fact in found} == {"h100-sxm5-80gb"}
    asked = ("facts", "azure/Standard_ND96isr_H100_v5", "--attribute", "fabric", "--json")
    assert {f["attribute"] for f in json.loads(fabricscout(*asked).stdout)["results"]} == {"fabric"}


def test_a_ranking_names_model_and_error(fabricscout):
    asked = (
        "rank",
        "--workload",
        "llama3-70b-pretrain",
        "--gpus",
        "64",
        "--nvlink",
        "--limit",
        "4",
    )
    found = fabricscout(*asked)
    assert [line.split()[0] for line in found.stdout.splitlines()] == ["rank", "1", "2", "3", "4"]
    assert "median error" in found.stderr
    whole = json.loads(fabricscout(*asked, "--json").stdout)
    assert whole["model_version"] in found.stderr


def test_a_workload_of_ones_own_is_a_file(fabricscout, tmp_path):
    asked = ("rank", "--gpus", "64", "--gpu", "h100-sxm5-80gb", "--json", "--workload")
    presets = json.loads(fabricscout(*asked, "llama3-8b-pretrain").stdout)
    (tmp_path / "job.json").write_text(json.dumps({"preset": "llama3-8b-pretrain"}))
    (tmp_path / "none.json").write_text("{")
    assert presets["results"]
    refused = fabricscout(*asked, "@none.json")
    assert refused.returncode == 2
    assert "none.json" in refused.stderr


WISH = ("rank", "--workload", "llama3-70b-pretrain", "--tokens", "1e11", "--nvlink")


def test_the_smallest_cluster_for_a_wish_is_named(fabricscout):
    asked = (*WISH, "--deadline-hours", "720", "--budget-usd", "2000000")
    wish = json.loads(fabricscout(*asked, "--json").stdout)["wish"]
    least = wish["smallest"]
    named = f"{least['provider']} {least['instance_type']}, "
    found = fabricscout(*asked, "--limit", "2")
    (line,) = (each for each in found.stderr.splitlines() if "smallest cluster that does" in each)
    assert named in line
    assert f"{least['gpus']} GPUs" in line
    assert f"{least['hours']['expected']:,.0f} h" in line
    assert f"${least['usd']['expected']:,.0f}" in line


def test_of_a_wish_that_no_cluster_keeps_the_reason_is_told(fabricscout):
    asked = (*WISH, "--deadline-hours", "1", "--budget-usd", "10")
    found = fabricscout(*asked)
    whole = json.loads(fabricscout(*asked, "--json").stdout)
    assert (found.returncode, found.stdout) == (3, "")
    assert whole["wish"]["reason"] in found.stderr
    assert f"{len(whole['left_out'])} left out" in found.stderr
    assert whole["left_out"][0]["reason"].split()[0] in found.stderr


def test_a_ranking_by_stale_prices_says_so(fabricscout):
    asked = ("rank", "--workload", "llama3-70b-pretrain", "--gpus", "64", "--nvlink")
    offers = [row["offer"] for row in json.loads(fabricscout(*asked, "--json").stdout)["results"]
              if row["usd_per_hour"] is not None]  # fmt: skip
    stale = sum(offer["stale"] for offer in offers)
    assert stale  # the bundled catalog is dated
    assert (
        f"{stale} of the {len(offers)} prices it ranks by are stale" in fabricscout(*asked).stderr
    )


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        (("facts", "azure/Standard_ND96isr_H100_v5"), "facts"),
        (("compare", "azure/Standard_ND96isr_H100_v5", "lambda/gpu_8x_h100_sxm5"), "lines"),
        (("changes", "--since", "30d", "--provider", "lambda"), "results"),
        (("parameters", "offers"), "results"),
    ],
)
def test_a_limit_holds_for_every_command(fabricscout, asked, rows):
    assert len(fabricscout(*asked, "--limit", "2").stdout.splitlines()) == 1 + 2
    assert len(json.loads(fabricscout(*asked, "--limit", "2", "--json").stdout)[rows]) == 2
    assert len(json.loads(fabricscout(*asked, "--json").stdout)[rows]) > 2


def test_a_comparison_has_a_column_for_each_pick(fabricscout):
    picks = ("azure/Standard_ND96isr_H100_v5", "lambda/gpu_8x_h100_sxm5")
    found = fabricscout("compare", *picks).stdout.splitlines()
    assert found[0].split() == ["attribute", "unit", *picks]
    (fabric,) = (line.split() for line in found if line.startswith("fabric "))
    assert fabric == ["fabric", "-", "infiniband", "unknown"]


def test_fabrics_prices_and_parameters(fabricscout):
    fabrics = fabricscout("fabrics", "--gpus-min", "32", "--infiniband", "--json")
    assert all(f["technology"] == "infiniband" for f in json.loads(fabrics.stdout)["results"])
    prices = fabricscout("prices", "--provider", "lambda", "--instance-type", "gpu_8x_h100_sxm5")
    assert prices.stdout.count("still") == 1
    names = fabricscout("parameters", "offers", "--csv").stdout
    assert "fabric_gbits_per_s_per_gpu_min" in names


# --- Exit codes -------------------------------------------------------------------------------


def test_nothing_matches_is_3(fabricscout):
    found = fabricscout("offers", "--gpus-min", "100000")
    assert (found.returncode, found.stdout) == (3, "")
    assert "nothing matches" in found.stderr
    assert fabricscout("facts", "nowhere/nothing").returncode == 3
    bare = fabricscout("facts", "azure")
    assert (bare.returncode, bare.stdout) == (3, "")
    assert "no GPU is called 'azure'; a type is PROVIDER/TYPE." in bare.stderr
    assert fabricscout("changes", "--since", "0d", "--provider", "azure").returncode == 3


def test_bad_input_is_2_and_names_the_field(fabricscout):
    for asked, said in (
        (("offers", "--gpu", "h100"), "gpu 'h100' is not a GPU; near it are"),
        (("offers", "--nvlnk"), "nvlnk is not a parameter"),
        (("offers", "-f", "nvlink"), "NAME=VALUE"),
        (("offers", "nvlink=true"), "write --nvlink, or -f nvlink=true"),
        (("offers", "nvlink=false"), "write --no-nvlink,"),
        (
            ("rank", "--workload", "llama3-8b-pretrain", "gpu_count_min=8"),
            "write --gpu-count-min 8,",
        ),
        (("offers", "--csv", "8 H100"), "'8 H100' is no flag: a parameter is written --NAME VALUE"),
        (("saved", "team=a"), "saved takes no 'team=a'"),
        (("offers", "--limit", "many"), "--limit"),
        (("offers", "--format", "csv"), "--csv"),
        (("rank", "--workload", "nothing", "--gpus", "8"), "workload"),
        (("rank", "--workload", "llama3-8b-pretrain", "--gpus", "0"), "gpus"),
        (("compare", "h100"), "has a slash"),
        (("compare", "a/b", "--nvlink"), "--nvlink"),
        (("changes", "--since", "30d", "--fail-if-price-rises", "much"), "a share like 10%"),
        (("changes", "--since", "30d", "--fail-if-price-rises", "10"), "write 10% or 0.1"),
        (("changes", "--since", "yesterday"), "since must be a date"),
        (("changes", "--since", "1d", "--until", "never"), "until must be a date"),
        (("offers", "--gpu", "qqq"), "gpu 'qqq' is not a GPU, nor is any near it."),
        (("rank", "--workload", "gpt-5", "--gpus", "8"), "workload must be one of"),
        (("parameters", "nothing"), "must be one of"),
        (("frobnicate",), "frobnicate"),
        ((), "COMMAND"),
    ):
        found = fabricscout(*asked)
        assert (found.returncode, found.stdout) == (2, ""), asked
        assert said in found.stderr
        assert "Traceback" not in found.stderr


def test_no_service_is_1_in_one_sentence(fabricscout):
    found = fabricscout("offers", url="http://127.0.0.1:9")
    assert found.returncode == 1
    assert found.stderr.startswith("fabricscout: FabricScout does not answer at http://127.0.0.1:9")
    assert found.stderr.count("\n") == 1


def test_a_price_that_rose_is_4_and_one_that_rose_less_is_0(fabricscout):
    asked = ("changes", "--since", "30d", "--provider", "lambda", "--fail-if-price-rises")
    rose = fabricscout(*asked, "10%")
    assert rose.returncode == 4
    assert "+15.0%" in rose.stdout or "15.0%" in rose.stdout
    assert (fabricscout(*asked, "0.2").returncode, fabricscout(*asked, "20%").stdout) == (0, "")
    nothing = fabricscout(*asked, "10%", "--gpus-min", "100000")
    assert nothing.returncode == 3  # to watch over nothing is a mistake, not a success


def test_what_was_held_against_what_is_said_beside_the_table(fabricscout):
    asked = ("changes", "--since", "30d", "--provider", "lambda", "--price-model", "on_demand")
    whole = json.loads(fabricscout(*asked, "--json").stdout)
    kinds = [change["what"] for change in whole["results"]]
    assert kinds.count("price") == 1
    assert whole["largest_rise"] == pytest.approx(0.15, abs=0.001)
    said = f"and now; the largest rise is {whole['largest_rise']:.2%}, the limit 20%."
    below = fabricscout(*asked, "--fail-if-price-rises", "20%")
    assert said in below.stderr
    assert f"fabricscout: {whole['compared']} offer" in below.stderr
    assert whole["compared"] >= 1
    for more, line in (
        (("--gpus-min", "100000"), "nothing was compared: no offer has a price both of"),
        (("--until", whole["since"]), "; none rose, the limit 20%."),
    ):
        found = fabricscout(*asked, "--fail-if-price-rises", "20%", *more)
        assert line in found.stderr
        assert found.stderr.count("\n") == 1
        assert found.returncode == (0 if "none rose" in line else 3)


# --- What a flag without a value asks ---------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        ("--gpudirect-rdma", "gpudirect_rdma=yes"),
        ("--no-gpudirect-rdma", "gpudirect_rdma=no"),
        ("--sharp --nvlink", "sharp=yes nvlink=true"),
        ("--no-nvlink", "nvlink=false"),
    ],
)
def test_a_field_of_words_is_asked_in_its_words(fabricscout, flags, says):
    flagged = fabricscout("offers", "--limit", "5", "--count=true", *flags.split())
    written = [word for each in says.split() for word in ("-f", each)]
    spelled = fabricscout("offers", "--limit", "5", "--count=true", *written)
    assert (flagged.returncode, flagged.stdout) == (spelled.returncode, spelled.stdout)
    assert flagged.stderr == spelled.stderr
    assert "in all" in flagged.stderr


def test_the_words_of_a_field_are_asked_in_every_command(fabricscout):
    """All but those that take no filter; what else is wrong is still said."""
    asked = ("--provider", "azure", "--gpudirect-rdma", "--json")
    rank = fabricscout("rank", "--workload", "llama3-8b-pretrain", "--gpus", "64", *asked)
    said = {row["offer"]["gpudirect_rdma"] for row in json.loads(rank.stdout)["results"]}
    assert said == {"yes"}
    assert fabricscout("changes", "--since", "30d", *asked).returncode in {0, 3}
    wrong = fabricscout("offers", "--no-sharp", "--nvlnk")
    assert wrong.returncode == 2
    assert "nvlnk is not a parameter" in wrong.stderr
    assert "is none of" not in wrong.stderr


# --- How a command line is read ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "parameters"),
    [
        ("--nvlink", {"nvlink": True}),
        ("--nvlink --gpu a", {"nvlink": True, "gpu": "a"}),
        ("--no-nvlink", {"nvlink": False}),
        ("--nvlink=false", {"nvlink": "false"}),
        ("--sort -usd_per_gpu_hour", {"sort": "-usd_per_gpu_hour"}),
        ("--gpus-min 8", {"gpu_count_min": "8"}),
        ("--nvlink --json", {"nvlink": True}),
        ("--nvlink -f a=b=c", {"nvlink": True, "a": "b=c"}),
        ("--a-filter-of-tomorrow 1", {"a_filter_of_tomorrow": "1"}),
    ],
)
def test_a_flag_that_is_not_the_commands_own_is_a_parameter(flags, parameters):
    _command, asked = read(["offers", *flags.split()])
    assert asked.parameters == parameters
