"""A comparison on paper: who reads it has no link to follow and nobody to ask."""

import re
from dataclasses import replace
from datetime import date

import pytest
from django.test import Client

from catalog import ingest, wording
from catalog.instances import CHECKLIST
from catalog.models import Rate
from comparisons import rfq, runs
from comparisons.models import Share
from scoring import MODEL_VERSION
from tests.comparisons.conftest import JOB, PICKS, SMALL, facts, offer
from tests.comparisons.test_comparison_pages import row, words


@pytest.fixture
def printed(saved, as_ada):
    """The page of a comparison that was just run, as HTML."""

    def to_paper(**fields) -> str:
        comparison = saved(notes="for January", **fields)
        runs.make(comparison)
        answer = as_ada.get(f"/comparisons/{comparison.pk}/print/")
        assert answer.status_code == 200
        assert "no-store" in answer["Cache-Control"]
        return answer.content.decode()

    return to_paper


def evidence(html: str) -> dict[str, list[str]]:
    """The list at the end: its numbers, and the cells of each as words."""
    listed = re.findall(r'<tr role="row" id="e(\d+)">(.*?)</tr>', html, re.DOTALL)
    return {n: [words(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", line)]
            for n, line in listed}  # fmt: skip


def numbers(cell: str) -> list[str]:
    found = re.search(r"\[([\d, ]+)\]", cell)
    return found[1].split(", ") if found else []


def test_each_cell_names_the_source_basis_and_day_that_it_rests_on(printed):
    html = printed()
    listed = evidence(html)
    ib, roce, _dark = row(html, "Fabric per GPU, one way")
    for cell, value in ((ib, "3,200 Gb/s"), (roce, "1,600 Gb/s")):
        entries = [listed[n] for n in numbers(cell)]
        assert any(value in says for says, *_rest in entries)
        for _says, source, basis, day in entries:
            where = {"documented": "acme.example", "derived": "rule: NICs × rate"}[basis]
            assert source.startswith(where)
            assert day == "2026-11-23"
    assert 'href="https://acme.example/prices"' in html  # which paper shows beside it


def test_every_number_in_a_cell_is_listed_and_every_entry_is_used(printed):
    html = printed()
    table = html.split('id="h-table"')[1].split("</table>")[0]
    used = {n for found in re.findall(r"<small>\[([\d, ]+)\]</small>", table)
            for n in found.split(", ")}  # fmt: skip
    assert used == set(evidence(html))


def test_every_value_but_the_unknown_ones_has_a_number(printed):
    html = printed()
    body = html.split('id="h-table"')[1].split("</table>")[0].split("Evidence</th>")[0]
    cells = [words(cell) for cell in re.findall(r"<td>(.*?)</td>", body)]
    bare = {cell for cell in cells if not numbers(cell)} - {""}
    assert bare <= {"unknown", "unknown cannot compare", "not offered", "—", "unknown ≠"}


def test_an_estimate_rests_on_the_model_and_on_the_price(printed):
    html = printed()
    listed = evidence(html)
    model, price = (listed[n] for n in numbers(row(html, "Cost of work")[0]))
    assert model[::2] == [f"[1] estimate: cost model {MODEL_VERSION}", "derived"]
    assert "price: 24 USD" in price[0]
    assert price[2] == "price list"


def test_where_somebody_looked_and_found_nothing_is_evidence_too(printed, market):
    looked = facts("acme/dark", gpudirect_rdma=None)
    market(days=1, dark=None, more=(offer("dark", "8", facts=looked),))
    html = printed()
    cell = row(html, "GPUDirect RDMA")[2]
    assert "unknown" in cell
    assert "GPUDirect RDMA: looked for, not found" in evidence(html)[numbers(cell)[0]][0]


def test_what_is_said_of_parts_alone_is_listed_claim_by_claim(printed):
    said = facts("acme/dark", sharp="yes")[-1]
    ingest.state([replace(said, scope=f"case {n}", source=f"rule: {n}") for n in (1, 2)], "cases")
    html = printed()
    cell = row(html, "SHARP")[2]
    assert cell.startswith("in some cases (2 claims)")
    listed = evidence(html)
    says = [listed[n][0].partition("] ")[2] for n in numbers(cell)]
    assert sorted(says) == [
        "SHARP in the switches: yes case 1",
        "SHARP in the switches: yes case 2",
    ]


def test_of_a_dispute_both_claims_are_listed(printed):
    for sharp, page in (("yes", "blog"), ("no", "faq")):
        said = facts("acme/ib", sharp=sharp)[-1]
        ingest.state([replace(said, source=f"https://acme.example/{page}")], page)
    html = printed()
    listed = evidence(html)
    claims = [listed[n] for n in numbers(row(html, "SHARP")[0])]
    said = {(where.replace(": ", "/"), says.rpartition(": ")[2]) for says, where, *_rest in claims}
    assert said == {
        ("acme.example/blog", "yes"), ("acme.example/faq", "no"),
    }  # fmt: skip


def test_who_was_not_there_can_tell_what_was_asked_when_and_of_what(printed, settings):
    text = words(printed(objective="time"))
    assert "For llama3-70b-pretrain on 64 GPUs" in text
    names = " ".join(pick.replace("acme/", "Acme ") for pick in PICKS)
    assert f"Offers {names}" in text
    assert re.search(
        rf"run on \d{{4}}-\d\d-\d\d \d\d:\d\d UTC with cost model {MODEL_VERSION}", text
    )
    assert "and the catalog of 2" in text
    assert "Prices as they were known on 2" in text
    assert f"Printed from {settings.PUBLIC_URL}/comparisons/" in text
    assert "for January" in text


def test_a_filter_is_told_in_words(printed):
    asked = {"price_model": ["on_demand", "spot"], "nvlink": True, "infiniband": "true",
             "usd_per_gpu_hour_max": "90"}  # fmt: skip
    text = words(printed(picks=[], filter=asked))
    assert "on demand, spot" in text
    assert "NVLink yes" in text
    assert "InfiniBand yes" in text
    assert "$ per GPU-hour ≤ 90" in text


def test_its_error_assumptions_unknowns_and_questions_are_on_it(printed, saved):
    html = printed()
    text = words(html)
    assert re.search(r"Median error [\d.]+ %, 90th percentile [\d.]+ %", text)
    assert "fabric is unknown: assumed Ethernet (Acme dark)" in text
    assert "storage, egress and taxes cost more" in text
    assert re.search(r"<dt>Acme dark</dt><dd>[^<]*Fabric", html)
    run = saved().__class__.objects.order_by("created_at").first().last_run
    assert words(rfq.text(run.results, "Q1")) in text


@pytest.mark.parametrize("asked", [{"gpus": 64}, {"workload": SMALL, "gpus": 8}])
def test_whatever_it_lists_as_unknown_its_provider_is_asked_for(printed, asked):
    asks = {
        wording.title(name): (question.ask, question.alone or question.ask)
        for question in CHECKLIST
        for name in question.all
    }
    html = printed(**asked)
    lists = dict(re.findall(r"<dt>Acme (\w+)</dt><dd>([^<]*)</dd>", html))
    assert lists
    letter = html.split("<pre>")[1].split("</pre>")[0]
    for name, unknown in lists.items():
        for title in unknown.split("; "):
            by_name = re.search(rf" {name}: We found nothing on “[^”]*{title}", letter)
            asked = any(f" {name}: {ask}" in letter for ask in asks[title])
            assert by_name or asked, (name, title)


def test_what_changed_since_the_run_before_is_on_it(saved, market, as_ada):
    comparison = saved()
    first = runs.make(comparison)
    market(days=1, dark="15", roce=None)
    runs.make(comparison)
    at = f"/comparisons/{comparison.pk}/print/"
    text = words(as_ada.get(at).content.decode())
    assert "What changed since" in text
    assert "no longer listed" in text
    earlier = as_ada.get(f"{at}?run={first.pk}").content.decode()
    assert row(earlier, "This offer")[1].startswith("2.00")


def test_in_another_currency_it_names_the_rate_and_the_providers_own_price(printed, market):
    Rate.objects.create(currency="EUR", usd_per_unit="1.25", day=date(2026, 11, 20), source="ECB")
    html = printed(currency="EUR")
    assert "1 EUR = $1.25, rate of 2026-11-20" in words(html)
    assert "Ranked by € per million tokens" in words(html)
    assert any("price: 24 USD" in says for says, *_rest in evidence(html).values())


def test_it_is_reached_from_its_page_and_through_a_link(saved, as_ada):
    comparison = saved()
    _share, token = Share.make(comparison)
    at = f"/comparisons/{comparison.pk}/"
    assert as_ada.get(f"{at}print/").status_code == 404  # it has no answer yet
    assert Client().get(f"/shared/{token}/print/").status_code == 404
    run = runs.make(comparison)
    page = as_ada.get(f"{at}?run={run.pk}").content.decode()
    assert f'href="{at}print/?run={run.pk}"' in page
    assert f'href="/shared/{token}/print/"' in Client().get(f"/shared/{token}/").content.decode()
    answer = Client().get(f"/shared/{token}/print/")
    assert answer.status_code == 200
    assert (answer["Referrer-Policy"], "noindex" in answer["X-Robots-Tag"]) == ("no-referrer", True)
    assert JOB in answer.content.decode()
    Share.objects.get().delete()
    assert Client().get(f"/shared/{token}/print/").status_code == 404


def test_names_of_strangers_are_text_on_paper_too(printed, market):
    name = '"><img src=x onerror=alert(1)>'
    market(days=1, more=(offer(name, None, facts=facts(f"acme/{name}"), price_note="<b>ask"),))
    html = printed(picks=[f"acme/{name}", "acme/ib"], name="<script>alert(1)</script>")
    assert "<img src=x" not in html
    assert "<script>alert" not in html
    assert "<b>ask" not in html


def test_it_is_japanese_too(printed, as_ada, saved):
    comparison = saved()
    runs.make(comparison)
    html = as_ada.get(f"/comparisons/{comparison.pk}/print/", headers={"accept-language": "ja"})
    for text in ("質問の内容", "各セルの根拠", "誰も明らかにしていないこと"):
        assert text in html.content.decode()
