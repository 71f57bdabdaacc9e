"""The table of offers: its columns and their file, and what is picked to be compared."""

import csv
import io
import json
import random
import re
from collections.abc import Mapping
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.http import QueryDict
from django.test import Client

from catalog import columns, offers
from catalog.columns import ALWAYS, COLUMNS, USUAL
from catalog.filters import read
from catalog.models import InstanceType
from catalog.templatetags.cells import CELLS, HARDWARE, OF_HARDWARE
from tests.catalog.test_pages import HTMX, PRESET, bundled, names, page, text_of, web

__all__ = ["bundled", "web"]
AZURE = "azure/Standard_ND96isr_H100_v5;on_demand"


def headings(html: str) -> list[str]:
    """What stands over each column, without its arrow and unit."""
    head = html.split("<thead", 1)[1].split("</thead>", 1)[0]
    return [
        re.sub(r"<small>.*?</small>|<[^>]+>|[▲▼]", "", each).strip()
        for each in re.findall(r"<th[^>]*>(.*?)</th>", head, re.DOTALL)
    ]


def file_of(web: Client, html: str) -> list[dict[str, str]]:
    """The rows of the CSV that the page links to."""
    href = re.search(r'id="csv" href="([^"]*)"', html)
    assert href
    return list(csv.DictReader(io.StringIO(web.get(unescape(href[1])).content.decode())))


# --- Columns ----------------------------------------------------------------------------------


def test_the_usual_columns_stand_where_none_are_named(web: Client) -> None:
    titles = [unescape(str(COLUMNS[name].title)) for name in USUAL]
    assert [unescape(each) for each in headings(page(web, "/"))] == [
        "Compare", "Instance type", *titles,
    ]  # fmt: skip


def test_columns_are_chosen_by_name_and_stand_in_our_order(web: Client) -> None:
    html = page(web, "/?cols=sharp,usd_per_hour,gpu")
    assert headings(html)[2:] == ["GPU", "$ per instance-hour", "SHARP"]
    assert 'value="sharp" id="col-sharp" checked' in html
    assert 'id="col-cliff">' in html.replace(" >", ">")


def test_every_column_has_a_cell_for_every_row(web: Client) -> None:
    html = page(web, "/?page_size=500&cols=" + ",".join(COLUMNS))
    body = html.split("<tbody", 1)[1].split("</tbody>", 1)[0]
    rows = body.split("</tr>")[:-1]
    assert len(rows) > 400
    assert {row.count("<td") for row in rows} == {len(COLUMNS) + 1}


def test_the_file_has_what_names_a_row_and_the_fields_of_the_columns(web: Client) -> None:
    rows = file_of(web, page(web, PRESET + "&cols=sharp,checked,fabric_gbits_per_s_per_gpu"))
    shown = ("fabric_gbits_per_s_per_gpu", "sharp", "checked")
    assert set(rows[0]) == {*ALWAYS, *shown}
    assert rows[0]["checked"].startswith("20")


def test_a_column_that_is_none_is_said_and_the_usual_stand(web: Client) -> None:
    response = web.get("/?cols=gpu,colour&nvlink=true")
    html = response.content.decode()
    assert response.status_code == 400
    assert "<code>cols=gpu,colour</code> colour is no column." in html
    assert len(headings(html)) == len(USUAL) + 2
    assert names(html) == names(page(web, "/?nvlink=true"))


def test_the_form_and_the_links_keep_the_columns(web: Client) -> None:
    html = page(web, PRESET + "&cols=gpu,sharp")
    for found in ('id="s-gpu" href="', 'id="preset-3" href="', 'id="by-region" href="'):
        href = html.split(found, 1)[1].split('"', 1)[0]
        assert parse_qs(urlsplit(unescape(href)).query)["cols"] == ["gpu,sharp"], found
    usual = urlencode([("cols", name) for name in USUAL])
    assert web.get(f"/?nvlink=true&{usual}", headers=HTMX)["HX-Push-Url"] == "/?nvlink=true"


def test_marks_of_further_columns_say_how_their_values_are_known(web: Client) -> None:
    """A value without a mark is one that its provider documents."""
    rows = page(web, "/?cols=max_gpus_on_one_fabric&q=azure+ND96").split("<tbody", 1)[1]
    assert "#derived" in rows


@pytest.mark.parametrize("seed", range(20))
def test_rows_on_screen_in_the_file_and_in_json_are_the_same(web: Client, seed: int) -> None:
    """Twenty filters that nobody chose, each with columns of its own."""
    dice = random.Random(seed)
    filters = {
        "nvlink": ["true", "false"], "infiniband": ["true"], "fabric": ["roce,infiniband", "efa"],
        "gpu_count_min": ["2", "8"], "fabric_gbits_per_s_per_gpu_min": ["100", "400"],
        "usd_per_gpu_hour_max": ["2", "6", "15"], "continent": ["europe", "asia"],
        "price_model": ["on_demand", "spot"], "rows": ["type", "region"], "q": ["h100", "a100"],
        "sort": ["-cliff", "gpu", "-usd_per_gpu_hour", "fabric"], "page_size": ["7", "200"],
        "include_unknown": ["fabric", "continent"], "currency": ["EUR", "JPY"],
        "as_of": ["2026-10-20", "2026-11-15"],
    }  # fmt: skip
    asked = {name: dice.choice(filters[name]) for name in dice.sample(sorted(filters), 6)}
    columns = dice.sample(sorted(COLUMNS), 5)
    html = page(web, "/?" + urlencode(asked | {"cols": ",".join(columns)}))
    answer = web.get("/api/v1/offers/?" + urlencode(asked | {"fields": ",".join(ALWAYS)}))
    for _page in range(3):
        screen = names(html) if "<tbody" in html else []
        found = json.loads(answer.content)
        assert screen == [row["instance_type"] for row in found["results"]]
        rows = file_of(web, html)
        assert screen == [row["instance_type"] for row in rows]
        assert all(set(columns) <= set(row) for row in rows)
        if code := asked.get("currency", "").lower():
            assert all(f"{code}_per_gpu_hour" in row for row in (*rows, *found["results"]))
        further = re.search(r'id="next"[^>]*href="([^"]*)"', html)
        assert bool(further) == bool(found["next"])
        if not further:
            break
        html, answer = page(web, unescape(further[1])), web.get(found["next"])


class Watched(dict[str, Any]):
    """A row that remembers what was asked of it."""

    def __init__(self, row: Mapping[str, Any]) -> None:
        super().__init__(row)
        self.asked = set[str]()

    def __getitem__(self, name: str) -> Any:
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        return super().get(name, default)


def test_cells_of_the_hardware_look_at_nothing_of_the_offer(bundled: None, db: None) -> None:
    """They are kept by what they look at, and shown in each row that has the same."""
    evidence = columns.evidence(list(COLUMNS.values()))
    asked = set[str]()
    for query in ("page_size=500", "page_size=500&nvlink=true&sort=-cliff", "q=l40s"):
        for row in offers.page(read(QueryDict(query)), evidence=evidence).rows:
            watched = Watched(row)
            for name in OF_HARDWARE:
                CELLS[name](watched)
            asked |= watched.asked
    assert asked == set(HARDWARE)


# --- What is picked ---------------------------------------------------------------------------


def test_a_row_is_picked_by_a_box_of_the_form(web: Client) -> None:
    there = "/?q=ND96isr_H100_v5&price_model=on_demand"
    html = page(web, there)
    box = re.search(rf'<input type="checkbox" name="pick"[^>]*value="{AZURE}"[^>]*>', html)
    assert box
    assert 'form="filters"' in box[0]
    assert "checked" not in box[0]
    assert 'aria-label="Compare: Microsoft Azure Standard_ND96isr_H100_v5"' in box[0]
    assert "checked" in page(web, f"{there}&pick={AZURE}").split(f'value="{AZURE}"', 1)[1][:200]


def test_what_is_picked_elsewhere_stays_in_the_tray(web: Client) -> None:
    html = page(web, f"/?provider=lambda&pick={AZURE}")
    assert AZURE not in html.split("</table>", 1)[0].split("<tbody", 1)[1]
    tray = html.split('class="tray"', 1)[1]
    assert f'value="{AZURE}" id="picked-1" checked' in tray
    assert "Microsoft Azure Standard_ND96isr_H100_v5" in tray
    clear = unescape(tray.split('id="clear" href="', 1)[1].split('"', 1)[0])
    assert clear == "/?provider=lambda"


def test_compare_leads_on_with_what_is_picked_and_nothing_else(web: Client) -> None:
    picks = [("pick", AZURE), ("pick", "aws/p5.48xlarge;spot")]
    query = urlencode([("nvlink", "true"), *picks, ("cols", "gpu"), ("compare", "1")])
    response = web.get(f"/?{query}")
    there = urlsplit(response["Location"])
    assert (response.status_code, there.path) == (302, "/compare/")
    assert parse_qs(there.query) == {"pick": [value for _name, value in picks]}
    assert web.get(f"/?{query}", headers=HTMX)["HX-Redirect"] == response["Location"]


def test_of_seven_six_stay_and_the_page_says_so(web: Client) -> None:
    seven = [("pick", f"aws/type-{n}") for n in range(7)]
    response = web.get(f"/?{urlencode([*seven, ('compare', '1')])}")
    html = response.content.decode()
    assert response.status_code == 200
    assert "Six at most; remove one." in text_of(html)
    assert re.findall(r'name="pick"[^>]*value="aws/(type-\d)"', html) == [
        f"type-{n}" for n in range(6)
    ]


def test_a_name_from_outside_is_picked_as_text(web: Client) -> None:
    hostile = '"><script>alert(1)</script>,;x'
    InstanceType.objects.filter(name="Standard_ND96isr_H100_v5").update(name=hostile)
    html = page(web, "/?q=script&price_model=on_demand")
    assert "<script>alert" not in html
    value = unescape(html.split('name="pick"', 1)[1].split('value="', 1)[1].split('"', 1)[0])
    assert value == f"azure/{hostile};on_demand"
    again = page(web, "/?" + urlencode({"pick": value}))
    assert "<script>alert" not in again
    assert urlencode({"pick": value}, safe=",:/;").replace("&", "&amp;") in again


# --- The sentence -----------------------------------------------------------------------------


def test_a_bare_page_begins_with_a_sentence_whose_gaps_are_filters(web: Client) -> None:
    html = page(web, "/")
    h100 = re.search(r'<option value="([^"]*)">H100</option>', html)
    assert h100
    asked = urlencode({
        "nvlink": "true", "max_gpus_on_one_fabric_min": "64", "gpu": h100[1],
        "fabric": "infiniband", "continent": "europe", "price_model": "on_demand",
    })  # fmt: skip
    found = page(web, f"/?{asked}")
    assert "Standard_ND96isr_H100_v5" in names(found)
    assert "I need" not in found


# --- Facets -----------------------------------------------------------------------------------


def test_a_long_facet_is_cut_and_says_so(web: Client) -> None:
    facet = page(web, "/").split('id="facet-gpu"', 1)[1].split("</fieldset>", 1)[0]
    boxes = facet.count('name="gpu"')
    first, rest = facet.split("<details>", 1)
    assert first.count('name="gpu"') == 8
    assert f"8 of {boxes}, show all" in rest
    assert 'name="include_unknown"' in rest.rsplit("</details>", 1)[1]
    last = re.findall(r'name="gpu" id="gpu-([^"]*)"', facet)[-1]
    chosen = page(web, f"/?gpu={last}").split('id="facet-gpu"', 1)[1].split("</fieldset>", 1)[0]
    assert "<details open>" in chosen
