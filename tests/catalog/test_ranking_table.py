"""The table of a ranking: every cluster can be reached, and the files hold what the page shows."""

import csv
import io
import json
import re
from html import unescape

import pytest
from django.test import Client

from catalog import estimates
from catalog.models import Rate, Workload
from catalog.ranking_rows import starved
from scoring.workload import job_fields
from tests.catalog.conftest import MONDAY, facts, offer, scrape
from tests.catalog.market import INFINIBAND

JOB = "llama3-8b-pretrain"
PATH = f"/workloads/{JOB}/"
HOSTILE = "\u202eevil<script>alert(1)</script>" + "x" * 150


@pytest.fixture
def web(db: None, client: Client) -> Client:
    """Seven clusters on InfiniBand at seven prices, one of an unknown fabric, one of a bad name."""
    Workload.objects.create(slug=JOB, title=JOB, kind="train", job=dict(job_fields(JOB)))
    Rate.objects.create(currency="EUR", day=MONDAY.date(), usd_per_unit="1.25", source="a test")
    known = [
        offer(f"ib{n}", f"{20 + n}", facts=facts(f"acme/ib{n}", **INFINIBAND)) for n in range(7)
    ]
    scrape([*known, offer("silent", "60"), offer(HOSTILE, "70")])
    return client


def get(web: Client, query: str, status: int = 200) -> str:
    answer = web.get(f"{PATH}?gpus=64&{query}")
    assert answer.status_code == status, query
    return answer.content.decode()


def on_screen(html: str) -> list[tuple[int, str, float]]:
    """Rank, instance type and price of each row."""
    body = html.split("<tbody", 1)[1].split("</tbody>", 1)[0]
    return [
        (
            int(re.search(r'class="n tick">(\d+)<', row)[1]),  # type: ignore[index]
            re.search(r'class="nm"[^>]*>(?:<bdi>)?(.*?)(?:</bdi>)?</a>', row)[1],  # type: ignore[index]
            float(re.search(r"<b class=\"\w+\"[^>]*>([\d.,]+)</b>", row)[1]),  # type: ignore[index]
        )
        for row in body.split('<tr role="row">')[1:]
    ]


def linked(html: str, name: str) -> str:
    return unescape(re.search(rf'id="{name}"[^>]*href="([^"]*)"', html)[1])  # type: ignore[index]


@pytest.mark.parametrize("currency", ["", "&currency=EUR"])
def test_every_cluster_is_reached_and_the_files_hold_what_each_page_shows(
    web: Client, currency: str
) -> None:
    prefix = "eur" if currency else "usd"
    html, seen = get(web, f"page_size=4{currency}"), []
    while True:
        rows = on_screen(html)
        in_json = web.get(linked(html, "json")).json()
        text = web.get(linked(html, "csv")).content.decode()
        in_csv = list(csv.DictReader(io.StringIO(text)))
        assert [(r, unescape(n)) for r, n, _usd in rows] == [
            (each["rank"], each["instance_type"]) for each in in_json["results"]
        ]
        assert [each["instance_type"] for each in in_csv] == [
            each["instance_type"] for each in in_json["results"]
        ]
        for (_rank, _name, shown), each, line in zip(rows, in_json["results"], in_csv, strict=True):
            assert shown == pytest.approx(each[f"{prefix}_per_mtoken"], abs=0.0006)
            assert float(line[f"{prefix}_per_mtoken"]) == each[f"{prefix}_per_mtoken"]
        seen += rows
        if 'id="next"' not in html:
            break
        html = web.get(linked(html, "next")).content.decode()
    assert [rank for rank, _name, _usd in seen] == list(range(1, 10))
    assert in_json["count"] == 9
    assert in_json["pages"] == in_json["page"] == 3
    assert "9–9 of 9 clusters" in html


def test_a_header_names_its_unit(web: Client) -> None:
    header = get(web, "format=csv&currency=EUR").split("\n", 1)[0].split(",")
    assert {"usd_per_mtoken", "eur_per_mtoken", "step_time_s", "scaling_percent"} <= set(header)
    assert "fabric_gbits_per_s_per_gpu" in header


def test_another_page_or_money_is_the_same_ranking(web: Client) -> None:
    """Whoever turns the page waits for nothing: what was ranked is kept."""
    from catalog.models import Answer

    get(web, "")
    made = Answer.objects.count()
    for query in ("page=2&page_size=3", "currency=EUR", "format=csv", "page_size=all"):
        get(web, query)
    assert Answer.objects.count() == made


def test_amounts_and_headings_are_in_the_money_asked_for(web: Client) -> None:
    dollars, euros = get(web, ""), get(web, "currency=EUR")
    assert on_screen(euros)[0][2] == pytest.approx(on_screen(dollars)[0][2] / 1.25, abs=0.001)
    assert "€ per million tokens" in euros
    assert "€ / hour" in euros
    assert "$" not in re.sub(r"Budget, \$", "", euros.split("<main", 1)[1].split("<footer", 1)[0])
    assert 'name="currency" value="EUR"' in euros, "the form keeps it"


@pytest.mark.parametrize("wrong", ["currency=XXX", "page=0", "page=next", "page_size=0"])
def test_what_cannot_be_read_is_a_400_of_page_and_file(web: Client, wrong: str) -> None:
    assert "could not be read" in get(web, wrong, 400)
    assert get(web, f"{wrong}&format=csv", 400).startswith('{"error":{"code":"bad_query"')


def test_a_page_beyond_the_last_is_the_last(web: Client) -> None:
    assert on_screen(get(web, "page=99&page_size=4"))[-1][0] == 9


def test_a_file_beyond_the_last_page_is_empty_and_leads_back(web: Client) -> None:
    """Whoever turns pages until one is empty comes to an end."""
    found = json.loads(get(web, "page=99&page_size=4&format=json"))
    assert (found["results"], found["page"], found["pages"]) == ([], 99, 3)
    assert found["next"] is None
    assert "page=3" in found["previous"]
    assert get(web, "page=99&page_size=4&format=csv").splitlines()[1:] == []


def test_what_the_model_warns_of_stands_in_the_row_and_of_the_first_in_the_sentence(
    web: Client,
) -> None:
    """What was never measured has a range twice as wide: the page says so, as the API does."""
    rare = facts("=new/rare", gpu="mi300x-oam-192gb", **INFINIBAND)
    scrape([offer("rare", "1", provider="=new", facts=rare)], lister="=new")
    answer = estimates.answer({"workload": JOB, "gpus": 64})
    warned = [each for each in answer["results"] if each["estimate"]["warnings"]]
    assert warned[0]["rank"] == 1
    html = get(web, "")
    said = "This GPU or fabric was never measured: the interval is twice as wide"
    assert f"{said}." in html.split("<table", 1)[0]
    body = html.split("<tbody", 1)[1].split("</tbody>", 1)[0]
    told = [each for each in warned if "never measured" in " ".join(each["estimate"]["warnings"])]
    assert body.count(f"<small>{said}</small>") == len(told)


def test_in_japanese_the_unit_of_a_rate_is_one_phrase_with_it(web: Client) -> None:
    web.cookies["django_language"] = "ja"
    said = re.sub(r"<[^>]+>", "", get(web, "").split("<tbody", 1)[1])
    assert "GPU あたり 400 Gb/s" in said
    assert "400 GPU あたり" not in said


def test_an_unknown_fabric_is_said_once(web: Client) -> None:
    body = get(web, "q=silent").split("<tbody", 1)[1].split("</tbody>", 1)[0]
    assert body.count('class="unk"') == 1
    assert "Gb/s per GPU" not in body.split("<details", 1)[0]  # the details say what was assumed


def test_scaling_over_100_is_a_mark_in_the_cell_and_one_sentence_under_the_table(
    web: Client,
) -> None:
    """The count stands in the detail of the row."""
    html = get(web, "")
    marked = html.count('<span class="na">†</span>')
    assert html.count("over 100: on the smallest count") == (1 if marked else 0)
    assert html.count("Scaling is over 100 %: the smallest count, ") == marked


@pytest.mark.parametrize(("gpus", "said"), [(1, "1 GPU, must"), (8, "8 GPUs, must")])
def test_a_count_has_its_plural(gpus: int, said: str) -> None:
    start = {"gpus": gpus, "layout": {"recompute": "full"}}
    estimate = {"scaling_from": start, "layout": {}, "scaling_efficiency": 1.4}
    assert said in starved(estimate)


def test_scenarios_that_change_nothing_are_one_sentence(web: Client) -> None:
    html = get(web, "")
    same = html.split("No change (under 0.5 % of the time) from:", 1)[1].split("</p>", 1)[0]
    assert same.count("what_if=") >= 1
    table = html.split("What if, for the first cluster</caption>", 1)
    changes = re.findall(r'<td class="n">[+−]?([\d.]+)</td>', table[1]) if len(table) > 1 else []
    assert all(float(percent) >= 0.5 for percent in changes[::3])


def test_a_hostile_name_turns_and_runs_nothing(web: Client) -> None:
    html = get(web, "q=evil")
    assert "<script>alert" not in html
    standing = re.sub(r"<bdi>.*?</bdi>", "", html, flags=re.DOTALL)
    assert "\u202e" in html
    assert "\u202e" not in standing.replace("\u202eevil", "", standing.count('value="')), "isolated"


def test_one_gpu_is_one(web: Client) -> None:
    assert f"{JOB} on 1 GPU<" in web.get(f"{PATH}?gpus=1").content.decode()
