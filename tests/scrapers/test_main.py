"""`python -m scrapers`: lines, exit codes, and one sentence when it cannot."""

import json
import subprocess
import sys

import pytest
from recorded import PAYLOADS

from scrapers.__main__ import main


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, object]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_payload_becomes_offers_and_rejected_rows(capsys):
    assert main(["parse", "vast", str(PAYLOADS / "vast.json")]) == 0
    read = lines(capsys)
    offers = [line for line in read if line["kind"] == "offer"]
    reasons = {line["reason"] for line in read if line["kind"] == "rejected"}
    assert (len(offers), len(reasons)) == (9, 2)


def test_several_documents_with_a_context(tmp_path, capsys):
    prices, sizes = (
        json.loads((PAYLOADS / f"{n}.json").read_bytes()) for n in ("azure", "azure_skus")
    )
    bundle = tmp_path / "bundle.json"
    context = {"collected_at": "2026-11-01T00:00:00Z", "rates": {"EUR": "1.1"}}
    bundle.write_text(json.dumps({"documents": [prices, sizes], "context": context}))
    assert main(["parse", "azure", str(bundle)]) == 0
    offers = [line for line in lines(capsys) if line["kind"] == "offer"]
    assert {line["collected_at"] for line in offers} == {"2026-11-01T00:00:00+00:00"}
    node = next(line for line in offers if line["instance_type"] == "Standard_NC96ads_A100_v4")
    assert (node["native_amount"], node["native_currency"], node["usd_per_hour"]) == (
        "15.2",
        "EUR",
        "16.72",
    )
    assert (node["usd_rate"], node["stale"]) == ("1.1", None)


def test_money_is_text_and_all_else_numbers(capsys):
    main(["parse", "azure", str(PAYLOADS / "azure.json")])
    offer = lines(capsys)[0]
    assert (offer["usd_per_hour"], offer["usd_per_gpu_hour"]) == ("101.5", "12.6875")
    assert (offer["gpu_count"], offer["gpu_memory_gb"]) == (8, 80)


def test_the_bundled_facts_of_a_type_stand_beside_its_payload(tmp_path, capsys):
    gpus = [{"Name": "H200", "Count": 8, "MemoryInfo": {"SizeInMiB": 144384}}]
    types = [{"InstanceType": "p5en.48xlarge", "GpuInfo": {"Gpus": gpus}}]
    file = tmp_path / "types.json"
    file.write_text(json.dumps({"InstanceTypes": types}))
    assert main(["parse", "aws", str(file)]) == 0
    (line,) = lines(capsys)
    assert (line["fabric"], line["gpudirect_rdma"], line["fabric_gbits_per_s"]) == (
        "efa",
        "yes",
        3200,
    )


def test_the_list_names_every_provider(capsys):
    assert main(["list"]) == 0
    listed = {line["slug"]: line for line in lines(capsys)}
    assert {"vast", "azure"} <= listed.keys()
    assert listed["vast"]["needs_credentials"] is False
    assert listed["vast"]["refresh_hours"] == 1


def test_a_text(capsys):
    assert main(["parse", "--text", "oci", "X | 8 x 2 x 200 Gbps RDMA"]) == 0
    (line,) = lines(capsys)
    assert line["fabric_gbits_per_s"] == 3200


def test_a_text_explained_to_read(capsys):
    assert main(["parse", "--text", "--explain", "zed", "X | 4x L40S | 25 Gbps Ethernet"]) == 0
    title, *sentences = capsys.readouterr().out.splitlines()
    assert title == "zed / X"
    assert '  gpu_count = 4: the text: "4x L40S" counts the GPUs' in sentences
    assert any(sentence.startswith("  fabric: not known") for sentence in sentences)


@pytest.mark.parametrize(
    "body", [b"", b"{", b"<html>", b"\xff", b"[" * 9999, b'{"documents": [3], "context": 7}', b"1"]
)
def test_what_cannot_be_read_exits_2_with_one_sentence(tmp_path, capsys, body):
    file = tmp_path / "payload"
    file.write_bytes(body)
    assert main(["parse", "vast", str(file)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["parse", "nope", "x"],
        ["parse", "vast", "/no/such/file"],
        ["parse", "vast"],
        ["parse", "--explain", "vast", "x"],
        ["parse", "vast", "/"],
    ],
)
def test_wrong_arguments_exit_2(capsys, arguments):
    assert main(arguments) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_it_needs_neither_database_nor_django():
    code = "import sys; from scrapers.__main__ import main; main(['list'])\n"
    code += (
        "assert not [m for m in sys.modules if m.split('.')[0] in ('django', 'celery', 'psycopg')]"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False, env={})
    assert done.returncode == 0, done.stderr.decode()
