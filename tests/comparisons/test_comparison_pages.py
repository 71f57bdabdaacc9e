"""The pages: /compare/ for anyone, one's own for oneself, a link for whoever has it."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test import Client

from catalog import candidates, ingest
from catalog.models import Provider
from catalog.records import NO_PRICE_FOUND
from comparisons import runs
from comparisons.invariants import digest
from comparisons.models import Comparison, Run, Share
from tests.comparisons.conftest import JOB, PICKS, facts, offer

WORK = f"workload={JOB}&gpus=64"


def picks(*texts: str) -> str:
    return "&".join(f"pick={quote(text)}" for text in texts)


THREE = picks(*PICKS)


def words(html: str) -> str:
    """What a reader sees."""
    body = re.sub(r"<(script|style).*?</\1>", "", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def row(html: str, title: str) -> list[str]:
    """The cells of one row of the table, as words."""
    line = re.search(
        rf'<tr[^>]*><th scope="row">{re.escape(title)}(<small>.*?)?</th>(.*?)</tr>', html
    )
    assert line, title
    return [words(cell) for cell in re.findall(r"<td>(.*?)</td>", line[2])]


@pytest.fixture
def see(market, client: Client):
    """A query of /compare/ to its HTML."""

    def ask(query: str, status: int = 200, **headers: str) -> str:
        answer = client.get(f"/compare/?{query}", headers=headers)
        assert answer.status_code == status, answer.content
        return answer.content.decode()

    return ask


OPPOSED = "infiniband=true&fabric=efa"
CONTRADICT = "“InfiniBand: yes” and “Fabric: EFA” contradict each other: no offer can pass both."


# --- /compare/ --------------------------------------------------------------------------------


def test_offers_stand_side_by_side_against_the_first(see):
    html = see(THREE)
    assert row(html, "This offer") == [
        "3.00 on demand, oslo",
        "2.00 on demand, oslo −33 % better",
        "1.00 on demand, oslo −67 % better",
    ]
    assert row(html, "Fabric per GPU, one way")[0] == "400"
    assert row(html, "Fabric per GPU, one way")[1:] == ["200 −50 % worse", "unknown cannot compare"]
    assert row(html, "Links per GPU, one way")[1] == "450 same"
    assert "<b>baseline</b>" in html


def test_the_best_of_a_row_is_bold_and_equal_rows_are_soft(see):
    html = see(THREE)
    price = re.search(r'<th scope="row">This offer.*?</tr>', html)[0]
    assert re.findall(r'<b class="best">1\.00', price)
    assert price.count('class="best"') == 1
    assert re.search(r'<tr class="same"><th scope="row">GPU</th>', html)


def test_for_a_workload_there_are_rank_cost_speed_and_waiting(see):
    html = see(f"{THREE}&{WORK}")
    assert "For llama3-70b-pretrain on 64 GPUs" in html
    assert sorted(cell[0] for cell in row(html, "Rank")) == ["1", "2", "3"]
    for title in ("Cost of work", "Speed", "Scaling", "Step time", "Limited by"):
        assert len(row(html, title)) == 3
    assert re.match(r"\d+\.\d+ \d+\.\d+–\d+\.\d+$", row(html, "Cost of work")[0])
    assert len(row(html, "Lost to waiting and bubble")) == 3
    assert 'role="img" aria-label="compute ' in html
    assert re.search(r"less than the baseline, Acme ib\.", words(html))


def test_make_baseline_moves_a_column_to_the_front(see):
    html = see(f"{THREE}&baseline={quote('acme/dark')}")
    heads = re.findall(r'<a class="nm" href="[^"]*">([^<]+)</a>', html.split("<tbody>")[0])
    assert heads == ["dark", "ib", "roce"]
    assert row(html, "This offer")[1] == "3.00 on demand, oslo +200 % worse"
    assert "baseline=acme/roce" in html


def test_differences_only_leaves_out_what_all_share(see):
    whole, different = see(THREE), see(f"{THREE}&diff=1")
    counts = [int(n) for n in re.findall(r"(?:All rows|Differences only) <b>(\d+)</b>", whole)]
    assert counts[0] > counts[1] > 5
    assert [each.count('<tr><th scope="row">') + each.count('<tr class="same">')
            for each in (whole, different)] >= counts  # fmt: skip
    assert '<th scope="row">GPU</th>' in whole
    assert '<th scope="row">GPU</th>' not in different


def test_the_seventh_is_refused_and_six_are_shown(see, market):
    more = tuple(offer(f"more{n}", str(20 + n)) for n in range(4))
    market(days=1, more=more)
    html = see(picks(*PICKS, *(f"acme/more{n}" for n in range(4))), 400)
    assert "Six at most; remove one." in html
    assert len(row(html, "This offer")) == 6


def test_what_cannot_be_read_is_said_and_the_rest_is_shown(see):
    for wrong, says in {
        "pick=acme/nonesuch": "is not in the catalog.",
        "pick=acme": "must read provider/instance type",
        "pick=%00/x": "must read",
        "workload=beauty": "must be",
        f"workload={JOB}&gpus=many": "must be a whole number",
        "baseline=acme/other": "must be one of picks",
        "as_of=soon": "must be a date",
        "colour=blue": "is not a parameter",
        "usd_per_hour_max=NaN": "must be a number",
        "currency=XXX": "XXX",
    }.items():
        html = see(f"{THREE}&{wrong}", 400)
        assert says in html, wrong
        assert len(row(html, "This offer")) == 3, wrong


def test_filters_that_contradict_each_other_are_told_and_either_can_be_dropped(see):
    html = see(f"{THREE}&{OPPOSED}")
    assert CONTRADICT in words(html)
    assert "<table" not in html
    for kept in ("fabric=efa", "infiniband=true"):
        assert re.search(rf'class="btn" href="/compare/\?[^"]*{kept}', html)


def test_nothing_picked_says_how(see):
    assert "Nothing is picked yet" in see("")
    assert "Nothing is picked yet" in see("pick=acme/nonesuch", 400)


def test_a_region_without_it_is_not_offered_and_never_free(see, market):
    tokyo = offer("roce", "20", region="tokyo", country="JP")
    market(days=1, more=(tokyo,))
    html = see(f"{THREE}&region=tokyo&{WORK}&baseline={quote('acme/roce')}")
    assert row(html, "This offer") == ["2.50 on demand, tokyo", "not offered", "not offered"]
    assert row(html, "Cost of work")[1:] == ["not offered", "not offered"]
    assert row(html, "Rank") == ["1", "—", "—"]
    assert "$0" not in html
    assert "0.00" not in row(html, "The instance")[1]
    assert "Not offered: " in html


def test_a_date_before_we_looked_is_unknown_and_not_a_no(see):
    html = see(f"{THREE}&as_of=2020-01-01")
    assert row(html, "This offer") == ["no price of then is known"] * 3
    assert "not offered" not in html


def test_a_type_that_is_gone_stays_with_what_is_known_of_it(see, market):
    market(days=1, roce=None)
    html = see(THREE)
    assert row(html, "This offer")[1] == "no longer listed"
    assert row(html, "Fabric per GPU, one way")[1] == "200 −50 % worse"


def test_every_value_has_its_source_with_its_address(see, settings):
    html = see(THREE)
    assert html.count('href="https://acme.example/prices"') >= 6
    assert f"Printed from {settings.PUBLIC_URL}/compare/?pick=" in words(html)
    assert "cost model" in words(html)


def test_names_of_strangers_are_text(see, market, client):
    Provider.objects.filter(slug="acme").update(title="<script>alert(1)</script>{{7*7}}")
    name = '"><img src=x onerror=alert(1)>'
    market(days=1, more=(offer(name, "9", facts=facts(f"acme/{name}"), region="<b>x"),))
    html = see(f"{picks(f'acme/{name}', 'acme/ib')}&{WORK}")
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "<b>x" not in html
    assert "{{7*7}}" in html


def test_it_is_japanese_too(see):
    html = see(f"{THREE}&{WORK}", **{"accept-language": "ja"})
    for text in ("差のある行のみ", "基準にする", "比較不可", "良い", "各値の出典"):
        assert text in html


def test_in_another_currency_amounts_are_so_and_the_rate_is_named(see):
    from datetime import date

    from catalog.models import Rate

    Rate.objects.create(currency="EUR", usd_per_unit="1.25", day=date(2026, 11, 20), source="ECB")
    html = see(f"{THREE}&{WORK}&currency=EUR")
    assert row(html, "This offer")[0].startswith("2.40 ")
    assert "€ per million tokens" in html
    assert "1 EUR = $1.25, rate of 2026-11-20" in words(html)


def test_yen_have_no_decimals(see):
    from datetime import date

    from catalog.models import Rate

    Rate.objects.create(currency="JPY", usd_per_unit="0.01", day=date(2026, 11, 20), source="ECB")
    assert row(see(f"{THREE}&{WORK}&currency=JPY"), "This offer")[0].split()[0] == "300"


def cell(html: str, title: str, place: int) -> str:
    """One cell of a row, as HTML."""
    line = re.search(rf'<th scope="row">{re.escape(title)}.*?</tr>', html)
    assert line, title
    return re.findall(r"<td>.*?</td>", line[0])[place]


def dispute(subject: str, **values: Any) -> None:
    """Two pages of one provider that say otherwise."""
    ((name, pair),) = values.items()
    for page, value in zip(("blog", "faq"), pair, strict=True):
        said = facts(subject, **{name: value})[-1]
        ingest.state([replace(said, source=f"https://acme.example/{page}")], page)


@pytest.mark.parametrize(
    ("fact", "values", "title"),
    [
        ("scale_up_domain_gpus", (4, 8), "NVLink domain"),
        ("fabric_gbits_per_s", (1600, 800), "Fabric per GPU, one way"),
        ("max_gpus_on_one_fabric", (512, 2048), "Largest cluster"),
        ("sharp", ("yes", "no"), "SHARP"),
        ("fabric", ("roce", "infiniband"), "Fabric"),
        ("gpudirect_rdma", ("yes", "no"), "GPUDirect RDMA"),
    ],
)
def test_what_is_disputed_looks_so_and_is_held_against_nothing(see, fact, values, title):
    """Neither better nor worse, and never the best of its row; whichever column is the baseline."""
    dispute("acme/roce", **{fact: values})
    for baseline in ("acme/ib", "acme/roce"):
        html = see(f"{THREE}&baseline={quote(baseline)}")
        place = 1 if baseline == "acme/ib" else 0
        shown = cell(html, title, place)
        assert 'class="dis"' in shown
        assert "≠" in shown or 'href="#disputed"' in shown
        assert 'class="best"' not in shown
        assert not re.search("better|worse|same", cell(html, title, 1))


def in_cases(subject: str, count: int, **values: object) -> None:
    """As many claims, each of its own case, as measurements of several sizes are."""
    said = facts(subject, **values)[-1]
    of_cases = [replace(said, scope=f"case {n}", source=f"rule: {n}") for n in range(count)]
    ingest.state(of_cases, "cases")


@pytest.mark.parametrize(
    ("fact", "title"),
    [
        ({"measured_all_reduce_gbytes_per_s": 400}, "Measured all-reduce"),
        ({"sharp": "yes"}, "SHARP"),
        ({"fabric": "infiniband"}, "Fabric"),
        ({"gpudirect_rdma": "yes"}, "GPUDirect RDMA"),
    ],
)
def test_what_is_said_of_parts_alone_is_neither_unknown_nor_said(see, fact, title):
    in_cases("acme/dark", 5, **fact)
    assert row(see(THREE), title)[2].removesuffix(" cannot compare") == "in some cases (5 claims)"
    japanese = see(THREE, **{"accept-language": "ja"})
    assert "一部の場合のみ（5 件）" in japanese
    alone = see(f"{picks('acme/dark', 'acme/roce')}&diff=1")
    assert "in some cases (5 claims)" in alone


def test_a_row_that_says_nothing_of_any_offer_is_left_out(see, market):
    assert "What it is for" not in see(THREE)
    said = offer("roce", "16", facts=facts("acme/roce"), price_includes="two weeks")
    market(days=1, roce=None, more=(said,))
    assert row(see(THREE), "What it is for") == ["—", "two weeks", "—"]


def test_a_price_that_is_not_published_was_seen_nowhere(see, market):
    quoted = offer("dark", None, facts=facts("acme/dark"), price_note=NO_PRICE_FOUND)
    market(days=1, dark=None, more=(quoted,))
    html = see(THREE)
    assert row(html, "This offer")[2].startswith("not published")
    assert row(html, "Price seen")[2] == "—"
    assert row(html, "Source of the price")[2] == "—"
    japanese = see(THREE, **{"accept-language": "ja"})
    assert NO_PRICE_FOUND not in japanese


def test_scaling_over_100_says_why_and_is_held_against_nothing(see):
    html = see(f"{THREE}&{WORK}")
    shown = row(html, "Scaling")
    over = [text for text in shown if float(text.split()[0]) > 100]
    assert over, shown
    for text in shown:
        assert "points" not in text
    assert all("the smallest count" in text for text in over)


# --- One's own --------------------------------------------------------------------------------


@pytest.fixture
def mine(saved, as_ada: Client) -> tuple[Comparison, str]:
    """A comparison of ada's that was run, and its address."""
    comparison = saved(notes="for January")
    runs.make(comparison)
    return comparison, f"/comparisons/{comparison.pk}/"


def test_to_keep_one_asks_who_you_are_and_loses_nothing(market, client, ada):
    there = f"/comparisons/new/?{THREE}&{WORK}"
    answer = client.get(there)
    assert answer.status_code == 302
    assert quote(there) in answer["Location"]
    client.force_login(ada)
    html = client.get(there).content.decode()
    assert "acme/roce" in html
    answer = client.post(there, {"name": " Q1 ", "notes": "hi"}, follow=True)
    assert answer.redirect_chain
    kept = Comparison.objects.get()
    assert (kept.name, kept.notes, kept.picks, kept.owner) == ("Q1", "hi", PICKS, ada)
    assert kept.runs.count() == 1
    assert "less than the baseline" in answer.content.decode()


def test_a_ranking_is_kept_with_its_filters(market, as_ada):
    there = f"/workloads/{JOB}/?gpus=64&provider=acme&objective=time"
    pages = (as_ada.get(there).content.decode() for _ in range(9))  # a long one says how far it is
    found = (re.search(r'href="(/comparisons/new/[^"]+)"', page) for page in pages)
    link = next(each[1] for each in found if each).replace("&amp;", "&")
    as_ada.post(link, {"name": "all"})
    kept = Comparison.objects.get()
    assert kept.workloads == [{"workload": JOB, "gpus": 64}]
    assert (kept.filter, kept.objective, kept.picks) == ({"provider": "acme"}, "time", [])


def test_what_no_offer_can_pass_is_told_before_it_is_kept_and_on_its_page(market, as_ada):
    answer = as_ada.get(f"/comparisons/new/?{WORK}&{OPPOSED}")
    assert answer.status_code == 200
    assert CONTRADICT in words(answer.content.decode())
    there = as_ada.post(f"/comparisons/new/?{WORK}&{OPPOSED}", {"name": "none"})["Location"]
    for page in (there, f"{there}print/"):
        html = as_ada.get(page).content.decode()
        assert CONTRADICT in words(html)
        assert 'class="pin"' not in html
        rest = re.search(r'href="(/comparisons/new/\?[^"]*fabric=efa[^"]*)"', html)
        assert rest
        asked = as_ada.get(unescape(rest[1])).content.decode()
        assert "contradict" not in asked
        assert JOB in asked


def test_filters_that_nothing_passes_are_told_each_with_a_way_to_drop_it(market, as_ada):
    tight = "usd_per_gpu_hour_max=0.01&provider=acme"
    there = as_ada.post(f"/comparisons/new/?{WORK}&{tight}", {"name": "none"})["Location"]
    html = as_ada.get(there).content.decode()
    assert "No offer passes all of these filters." in words(html)
    assert "Drop the filter: $ per GPU-hour: ≤ 0.01" in words(html)
    assert "Drop the filter: Provider: Acme" in words(html)
    assert "Differences only" not in html
    copy = as_ada.post(f"{there}duplicate/", follow=True).content.decode()
    assert "It has not been answered yet" in copy


def test_where_every_pick_is_gone_none_is_called_cheap_or_able(mine, market, as_ada):
    comparison, at = mine
    others = tuple(offer(f"other-{n}", "9", facts=facts(f"acme/other-{n}")) for n in range(12))
    market(days=1, more=others)
    market(days=2, more=others, ib=None, roce=None, dark=None, spot=None)
    runs.make(comparison)
    html = as_ada.get(at).content.decode()
    assert "None of these can do it. Not offered: Acme ib, Acme roce, Acme dark." in words(html)
    assert row(html, "This offer") == ["no longer listed"] * 3
    assert "3 gone" in words(html)
    assert "$0" not in words(html)


def test_a_type_that_never_was_is_asked_for_and_not_about(saved, as_ada):
    comparison = saved(picks=["acme/ib", "acme/typo"])
    runs.make(comparison)
    html = as_ada.get(f"/comparisons/{comparison.pk}/questions/").content.decode()
    assert "typo: Do you offer it, and where?" in html
    assert html.count("typo: ") == 1


def test_without_a_name_nothing_is_kept(market, as_ada):
    answer = as_ada.post(f"/comparisons/new/?{THREE}", {"name": "  "})
    assert answer.status_code == 400
    assert "must be 1 to 200 characters" in answer.content.decode()
    assert not Comparison.objects.exists()


def test_the_list_says_what_changed(mine, market, as_ada):
    comparison, _at = mine
    market(days=1, dark="15")
    runs.refresh(comparison)
    html = as_ada.get("/comparisons/").content.decode()
    assert "1 price, 2 ranks" in html
    assert JOB in html


def test_the_empty_list_says_how_to_make_one(db, client, as_ada):
    for reader in (Client(), as_ada):
        assert "No comparison is kept yet" in reader.get("/comparisons/").content.decode()


def test_its_page_tells_what_changed_since(mine, market, as_ada):
    _comparison, at = mine
    market(days=1, dark="15", roce=None)
    html = as_ada.post(f"{at}run/", follow=True).content.decode()
    text = words(html)
    assert "What changed since" in text
    assert "was $1.00" in text
    assert "$1.88" in text
    assert "no longer listed" in text
    assert "for January" in text
    assert "$0" not in text


def test_what_is_lost_is_named_with_all_that_it_counts(saved, as_ada):
    """Its share of the price is the API's `exposed_share`, in which the bubble is."""
    comparison = saved()
    result = runs.make(comparison).results["workloads"][0]["results"][0]
    lost = result["usd_per_hour"] * result["estimate"]["exposed_share"]
    assert result["usd_lost_to_waiting_per_hour"] == pytest.approx(lost)
    html = as_ada.get(f"/comparisons/{comparison.pk}/").content.decode()
    shown = [float(cell.split()[0].replace(",", ""))
             for cell in row(html, "Lost to waiting and bubble")]  # fmt: skip
    assert round(lost) in shown


@pytest.mark.parametrize("page", ["", "print/", "questions/"])
def test_of_a_time_before_the_catalog_no_filter_is_blamed(saved, as_ada, page):
    comparison = saved(picks=[], filter={"nvlink": True})
    runs.make(comparison, as_of=datetime(2020, 1, 1, tzinfo=UTC))
    text = words(as_ada.get(f"/comparisons/{comparison.pk}/{page}").content.decode())
    assert "The catalog begins on 2026-11-23: of a time before it nothing is known." in text
    assert "filters" not in text
    assert "Drop the filter" not in text


def test_a_run_as_of_a_day_says_so(mine, market, as_ada):
    _comparison, at = mine
    market(days=2, ib="30")
    html = as_ada.post(f"{at}run/", {"as_of": "2026-11-24"}, follow=True).content.decode()
    assert "At the prices of 2026-11-24." in words(html)
    assert row(html, "This offer")[0].startswith("3.00")
    again = as_ada.post(f"{at}run/", {"as_of": "2999-01-01"}, follow=True).content.decode()
    assert "not after today" in again


def test_it_is_renamed_copied_and_deleted(mine, as_ada):
    comparison, at = mine
    as_ada.post(f"{at}edit/", {"name": "Q2", "notes": "new"})
    comparison.refresh_from_db()
    assert (comparison.name, comparison.notes, comparison.picks) == ("Q2", "new", PICKS)
    as_ada.post(f"{at}edit/", {"name": ""})
    comparison.refresh_from_db()
    assert comparison.name == "Q2"
    as_ada.post(f"{at}duplicate/")
    assert Comparison.objects.filter(name="Q2, copy").exists()
    as_ada.post(f"{at}delete/")
    assert Comparison.objects.filter(pk=comparison.pk).exists()  # not without the tick
    as_ada.post(f"{at}delete/", {"sure": "yes"})
    assert not Comparison.objects.filter(pk=comparison.pk).exists()


def test_questions_for_the_providers_can_be_copied(mine, as_ada):
    _comparison, at = mine
    assert "dark: Which network joins" in words(as_ada.get(f"{at}questions/").content.decode())


def test_a_run_of_another_comparison_is_not_this_ones(mine, saved, as_ada):
    _comparison, at = mine
    other = runs.make(saved())
    assert as_ada.get(f"{at}?run={other.pk}").status_code == 404
    assert as_ada.get(f"{at}?run=7").status_code == 404


def test_a_form_without_its_token_is_refused(mine, ada):
    _comparison, at = mine
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(ada)
    assert strict.post(f"{at}delete/", {"sure": "yes"}).status_code == 403
    assert Comparison.objects.exists()


# --- Links ------------------------------------------------------------------------------------


def test_a_link_shows_it_to_anyone_until_it_is_revoked(mine, as_ada, settings):
    comparison, at = mine
    html = as_ada.post(f"{at}share/", follow=True).content.decode()
    address = re.search(rf"{settings.PUBLIC_URL}(/shared/[\w-]+/)", html)[1]  # not of the Host
    assert address not in as_ada.get(at).content.decode()  # shown once
    answer = Client().get(address)
    text = words(answer.content.decode())
    assert "Q1" in text
    assert "for January" in text
    assert "<form" not in answer.content.decode().split("<main")[1]
    assert "no-store" in answer["Cache-Control"]
    assert answer["Referrer-Policy"] == "no-referrer"
    assert "noindex" in answer["X-Robots-Tag"]
    share = Share.objects.get()
    assert address.split("/")[2] not in share.token_hash
    as_ada.post(f"{at}share/{share.pk}/revoke/")
    revoked, unknown = Client().get(address), Client().get("/shared/nonesuch/")
    assert (revoked.status_code, unknown.status_code) == (404, 404)
    assert comparison.runs.count() == 1


def test_nothing_can_be_done_through_a_link(mine, as_ada):
    comparison, _at = mine
    _share, token = Share.make(comparison)
    before = digest()
    for verb in ("post", "put", "patch", "delete"):
        assert getattr(Client(), verb)(f"/shared/{token}/").status_code == 405
    assert digest() == before


# --- Faults -----------------------------------------------------------------------------------


def test_a_save_that_is_too_much_keeps_nothing(market, as_ada, monkeypatch):
    monkeypatch.setattr(candidates, "MOST_WORK", 0)
    answer = as_ada.post(f"/comparisons/new/?{THREE}&{WORK}", {"name": "Q1"})
    assert answer.status_code == 400
    assert not Comparison.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_save_is_whole_or_not_at_all(market, as_ada, monkeypatch):
    """The database goes away between the comparison and its first run."""

    def gone(*_args: Any) -> Run:
        with connection.cursor() as cursor:
            cursor.execute("select pg_terminate_backend(pg_backend_pid())")
        raise AssertionError

    monkeypatch.setattr(runs, "make", gone)
    before = digest()
    answer = as_ada.post(f"/comparisons/new/?{THREE}&{WORK}", {"name": "Q1"})
    assert answer.status_code == 503
    connection.close()
    assert digest() == before
    assert not Comparison.objects.exists()


def test_the_digest_sees_a_changed_note_and_a_link(mine):
    comparison, _at = mine
    seen = [digest()]
    Comparison.objects.update(notes="changed")
    seen.append(digest())
    Share.make(comparison)
    seen.append(digest())
    assert len(set(seen)) == 3


def test_a_kept_one_is_shown_in_the_currency_that_its_address_asks_for(saved, as_ada):
    from datetime import date

    from catalog.models import Rate

    Rate.objects.create(currency="EUR", usd_per_unit="1.25", day=date(2026, 11, 20), source="ECB")
    there = f"/comparisons/{runs.make(saved()).comparison_id}/"
    dollars, euros = (
        as_ada.get(f"{there}{asked}").content.decode() for asked in ("", "?currency=EUR")
    )
    assert "$ per GPU-hour" in dollars
    assert "€ per GPU-hour" in euros
    assert "1 EUR = $1.25, rate of 2026-11-20" in words(euros)
    assert f'<a class="opt" href="{there}" rel="nofollow">USD</a>' in euros, "and leads back"
    unknown = as_ada.get(f"{there}?currency=XXX")
    assert (unknown.status_code, "has no rate" in unknown.content.decode()) == (400, True)
