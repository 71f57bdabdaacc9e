"""The line charts: what is drawn is what the numbers say, and the API says the same."""

import json
import re
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.test import Client

from catalog import plots, ranking
from catalog.charts import BAR
from catalog.instance_prices import lowest_over_time
from catalog.models import Offer, Price
from catalog.ranking_charts import told_once
from tests.catalog.test_pages import bundled, page, text_of, web

__all__ = ["bundled", "web"]
JOB = "/workloads/llama3-70b-pretrain/?gpus=64&provider=azure,aws&nvlink=true"
SERVING = "/workloads/llama3-70b-decode/?gpus=16&provider=azure,aws&nvlink=true"
ASKED = {"filter": {"provider": "azure,aws", "nvlink": "true"}, "scenarios": True}
MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
DAY = timedelta(days=1)


def table(html: str, caption: str) -> list[list[str]]:
    """The cells of the table of that caption, without what stands small beneath."""
    body = html.split(f'<caption class="vh">{caption}</caption>', 1)[1].split("</table>", 1)[0]
    return [
        [
            re.sub(r"<[^>]+>", "", re.sub(r"<small>.*?</small>", "", cell)).strip()
            for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL)
        ]
        for row in body.split("</tr>")[:-1]
    ]


def estimates(web: Client, **body: Any) -> dict[str, Any]:
    answer = web.post("/api/v1/estimates/", json.dumps(body), content_type="application/json")
    assert answer.status_code == 200, answer.content
    return answer.json()  # type: ignore[no-any-return]


def test_the_curves_are_what_the_api_answers_for_each_count(web: Client) -> None:
    head, *lines = table(page(web, JOB), "Fabric efficiency in % by GPUs")
    counts = [int(text) for text in head[1:]]
    assert counts == [16, 32, 64, 128, 256]
    curves = estimates(web, workload="llama3-70b-pretrain", gpus=64, **ASKED)["growth"]
    assert len(lines) == len(curves) > 1
    for column, gpus in enumerate(counts, start=1):
        answer = estimates(web, workload="llama3-70b-pretrain", gpus=gpus, filter=ASKED["filter"])
        of = {(r["offer"]["provider"], r["offer"]["instance_type"]): r for r in answer["results"]}
        for line, curve in zip(lines, curves, strict=True):
            result = of.get((curve["provider"], curve["instance_type"]))
            if result is None:
                assert line[column] in {"", "—"}, (line, gpus)
            else:
                share = result["estimate"]["fabric_efficiency"]
                assert line[column] == f"{100 * share:.1f}", (line, gpus)


def test_the_drawing_is_to_scale() -> None:
    points = [
        {"gpus": 2**n, "fits": n > 4, "fabric_efficiency": 0.5, "low": 0.4, "high": 0.6}
        for n in range(4, 9)
    ]
    curve = {"name": "one", "unknown": ["fabric"], "domain_gpus": 72, "points": points}
    drawn = plots.scaling([curve], "finding")
    middle = (plots.TOP + plots.BOTTOM) / 2
    solid = re.search(r'<path d="M([\d.]+) ([\d.]+)L[^"]*L([\d.]+) [\d.]+" class="ln s1"/>', drawn)
    assert solid
    step = (plots.RIGHT - plots.LEFT) / 4
    assert [float(each) for each in solid.groups()] == [plots.LEFT + step, middle, plots.RIGHT]
    assert f'class="ln s1" stroke-dasharray="{plots.NOT_FITTING}"' in drawn, "16 GPUs do not fit"
    assert 'class="band s1"' in drawn, "the fabric is unknown"
    assert "domain of 72" in drawn
    assert 'role="img" aria-label="finding"' in drawn


def test_measured_runs_are_hollow_circles_where_the_axis_has_their_count() -> None:
    points = [{"gpus": n, "fits": True, "fabric_efficiency": 0.9} for n in (64, 256)]
    runs = [{"gpus": gpus, "share": share} for gpus, share in ((64, 1), (128, 0.5), (512, 0.4))]
    curve = {"name": "one", "unknown": [], "domain_gpus": 8, "points": points, "measured": runs}
    places = re.findall(r'<circle cx="([\d.]+)" cy="([\d.]+)" r="4" class="ln s1"/>',
                        plots.scaling([curve], ""))  # fmt: skip
    middle = [(plots.LEFT + plots.RIGHT) / 2, (plots.TOP + plots.BOTTOM) / 2]
    assert [[float(x), float(y)] for x, y in places] == [[plots.LEFT, plots.TOP], middle]


def test_each_measured_run_is_told_with_one_curve() -> None:
    run = {"series": "one", "gpus": 8}
    first, second = told_once([{"measured": [run]}, {"measured": [run, {**run, "gpus": 16}]}])
    assert [each["gpus"] for each in (*first["measured"], *second["measured"])] == [8, 16]


def test_names_at_the_ends_do_not_lie_upon_each_other() -> None:
    points = [{"gpus": n, "fits": True, "fabric_efficiency": 0.02} for n in (8, 16)]
    curves = [
        {"name": f"n{n}", "unknown": [], "domain_gpus": 8, "points": points} for n in range(5)
    ]
    drawn = plots.scaling(curves, "")
    places = [float(y) for y in re.findall(r'y="([\d.]+)" class="lt"', drawn)]
    gaps = [b - a for a, b in pairwise(places)]
    assert len(places) == 5
    assert min(gaps) >= plots.STEP
    assert max(places) <= plots.BOTTOM + 4
    led = re.findall(r'class="s(\d)"><path d="M230.0 [\d.]+L234.0 ([\d.]+)"[^>]*/><text', drawn)
    assert [line for line, _y in led] == list("12345"), "all stand apart from their lines' ends"
    assert [float(y) + 4 for _line, y in led] == places


@pytest.mark.parametrize(
    ("highest", "last"), [(0.3, 0.3), (7, 8), (100, 100), (1902, 2000), (0.004, 0.004)]
)
def test_an_axis_ends_at_a_round_number_above_all(highest: float, last: float) -> None:
    found = plots.ticks(highest, 4)
    assert found[0] == 0
    assert found[-1] == pytest.approx(last)


def test_serving_s_points_are_what_the_api_answers(web: Client) -> None:
    html = page(web, SERVING)
    lines = table(html, "Points of each line, fastest first")[1:]
    answer = estimates(web, workload="llama3-70b-decode", gpus=16, **ASKED)["frontier"]
    fastest = max(p["tokens_per_s_per_user"] for curve in answer for p in curve["points"])
    assert float(lines[0][1].replace(",", "")) == pytest.approx(
        answer[0]["points"][0]["tokens_per_s_per_user"], rel=0.01
    )
    assert f"with {fastest:.0f} tokens/s" in text_of(html)
    for curve in answer:
        rates = [point["tokens_per_s_per_gpu"] for point in curve["points"]]
        assert rates == sorted(rates), "who reads slower gets more out of a GPU"


def test_the_parts_of_a_step_are_those_of_the_estimate(web: Client) -> None:
    html = page(web, JOB)
    first = table(html, "Where a step goes, in percent")[1]
    result = estimates(web, workload="llama3-70b-pretrain", gpus=64, **ASKED)["results"][0]
    time, whole = result["estimate"]["time"], result["estimate"]["step_time_s"]
    compute = time["compute_s"] + time["optimizer_s"]
    assert float(first[3]) == pytest.approx(100 * compute / whole, abs=0.6)
    assert sum(float(each) for each in first[3:]) == pytest.approx(100, abs=2)
    width = re.search(r'<rect x="0.0" y="2" width="([\d.]+)"', html)
    assert width
    assert float(width[1]) == pytest.approx(BAR * compute / whole, abs=0.6)


def test_a_long_ranking_shows_how_far_it_is_and_goes_on(
    web: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was computed is kept, so that it ends; nothing of it needs a script."""
    monkeypatch.setattr(ranking, "PATIENCE_S", 0.0)
    there = "/workloads/gpt3-175b-pretrain/?gpus=96&provider=lambda"
    seen = []
    for _ in range(100):
        response = web.get(there)
        html = response.content.decode()
        if "Refresh" not in response:
            break
        assert response["Refresh"] == "0"
        done, of = re.search(r'value="(\d+)" max="(\d+)"', html).groups()  # type: ignore[union-attr]
        seen.append((int(of), int(done)))
    assert len(seen) > 1
    assert all(done < of for of, done in seen)
    assert "Left out" in html


# --- Prices over time -------------------------------------------------------------------------


def period(begin: int, end: int | None, usd: float, model: str = "on_demand") -> dict[str, Any]:
    until = None if end is None else MONDAY + end * DAY
    return {"valid_from": MONDAY + begin * DAY, "valid_to": until, "per_hour": usd,
            "offer__price_model": model}  # fmt: skip


def test_the_lowest_of_all_regions_is_drawn_and_a_gap_stays_open() -> None:
    lines = lowest_over_time(
        [period(0, 2, 20), period(1, 4, 18), period(6, None, 25), period(6, None, 9, "spot")]
    )
    assert [(at - MONDAY).days for at, _usd in lines["on_demand"]] == [0, 1, 4, 6]
    assert [usd for _at, usd in lines["on_demand"]] == [20, 18, None, 25]
    assert [usd for _at, usd in lines["spot"]] == [9]
    drawn = plots.price_steps([("on demand", lines["on_demand"])], MONDAY + 7 * DAY, "")
    assert drawn.count('class="ln s1"') == 3, "one step each, none where no price was"


def test_one_observation_is_no_history_and_two_are(web: Client) -> None:
    there = "/instances/azure/Standard_ND96isr_H100_v5/"
    assert "Price history needs two observations." in text_of(page(web, there))
    offer = Offer.objects.filter(
        instance_type__name="Standard_ND96isr_H100_v5", price_model="on_demand"
    ).order_by("usd_per_hour")[0]
    now = Price.objects.get(offer=offer, valid_to=None)
    Price.objects.filter(pk=now.pk).update(valid_from=now.valid_from + DAY)
    Price.objects.create(
        offer=offer, native_amount=90, native_currency="USD", usd_per_hour=90,
        valid_from=now.valid_from - 9 * DAY, valid_to=now.valid_from + DAY,
        source_url=now.source_url,
    )  # fmt: skip
    text = text_of(page(web, there))
    assert "Price over time" in text
    assert "on demand: $" in text
    assert "$90.00 to $" in text
