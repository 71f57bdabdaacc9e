"""What waits for a person, in the admin: decided by one action, whatever providers call their rows.

What comes of a decision once a worker has carried it out: tests/scrapers/test_replay.py.
"""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.core.management import call_command
from django.test import Client

from catalog.ingest import publish
from catalog.models import Alias, Errand, QuarantinedRow, Ruling, RunState, ScrapeRun
from catalog.quarantine_admin import GATES
from catalog.records import Gate, Normalised, Rejected
from tests.catalog.conftest import MONDAY, begin, offer, scrape

pytestmark = pytest.mark.django_db
QUARANTINE, ALIASES, RUNS = (
    f"/admin/catalog/{name}/" for name in ("quarantinedrow", "alias", "scraperun")
)
HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(2)>{{7*7}}\u202e'


@pytest.fixture
def ada(client: Client) -> Client:
    """The administrator that `createsuperuser` makes."""
    call_command("createsuperuser", "--no-input", username="ada", email="ada@example.com")
    client.force_login(User.objects.get(username="ada"))
    return client


def refused(*rows: Rejected) -> list[QuarantinedRow]:
    """Rows of acme's list of Monday."""
    run = begin(collected_at=MONDAY)
    publish(run, Normalised([offer()], list(rows)), run.epoch)
    return list(QuarantinedRow.objects.filter(run=run).order_by("id"))


def unknown(words: str = "H900 Ultra", key: str = "k1") -> Rejected:
    row = f'{{"gpu": "{words}"}}'
    return Rejected(f"unknown GPU name {words!r}", "rows[0]", row, Gate.UNKNOWN_GPU, key, words)


def act(client: Client, address: str, action: str, *objects: Any) -> str:
    """What the page says after an action on these objects."""
    asked = {"action": action, "_selected_action": [str(o.pk) for o in objects]}
    return client.post(address, asked, follow=True).content.decode()


# --- The list ---------------------------------------------------------------------------------


def test_the_row_and_the_sentence_stand_side_by_side_and_can_be_filtered(ada: Client) -> None:
    refused(unknown(), Rejected("price: 'oops' is no number", "rows[7]", '{"price": "oops"}'))
    page = ada.get(QUARANTINE).content.decode()
    assert "unknown GPU name" in page
    assert "{&quot;price&quot;: &quot;oops&quot;}" in page
    by_gate = ada.get(QUARANTINE, {"gate": "unreadable"}).content.decode()
    assert ("rows[7]" in by_gate, "rows[0]" in by_gate) == (True, False)
    for asked in ({"run__provider__slug__exact": "acme"}, {"run__started_at__year": "2026"}):
        assert ada.get(QUARANTINE, asked).status_code == 200


def test_hostile_names_are_text_wherever_they_stand(ada: Client) -> None:
    doubt = Rejected(
        f"unknown GPU name {HOSTILE}", f"rows[{HOSTILE}]", HOSTILE, Gate.UNKNOWN_GPU, "k", HOSTILE
    )
    (row,) = refused(doubt)
    run = scrape([offer(name=HOSTILE)], days=1)
    Ruling.objects.create(
        provider_id="acme", key="x", verdict="rejected", gate="figures", reason=HOSTILE,
        row=HOSTILE, decided_by=HOSTILE,
    )  # fmt: skip
    Alias.objects.create(kind="gpu", words=HOSTILE, target="h100-sxm5-80gb", taught_by=HOSTILE)
    Errand.objects.create(run=run, kind="replay", asked_by=HOSTILE, outcome=HOSTILE)
    pages = [QUARANTINE + "?state=all", f"{QUARANTINE}{row.pk}/change/", RUNS, "/admin/"]
    pages += [f"/admin/catalog/{name}/" for name in ("offer", "ruling", "alias", "errand", "fact")]
    for address in pages:
        page = ada.get(address).content.decode()
        assert "<script>alert" not in page, address
        assert "<img src=x" not in page, address
    assert "alert(1)" in ada.get(pages[1]).content.decode(), "and yet it is all shown"


def test_the_raw_payload_can_be_had_as_bytes_and_never_as_a_page(ada: Client) -> None:
    (row,) = refused(unknown())
    answer = ada.get(f"/admin/catalog/rawpayload/{row.payload_id}/bytes/")
    assert (answer.content, answer["Content-Type"]) == (b"{}", "application/octet-stream")
    assert answer["Content-Disposition"].startswith("attachment")
    assert ada.get("/admin/catalog/rawpayload/nope/bytes/").status_code == 404


# --- Decisions --------------------------------------------------------------------------------


def test_accepting_writes_a_ruling_an_errand_and_two_lines(
    ada: Client, caplog: pytest.LogCaptureFixture
) -> None:
    (row,) = refused(unknown())
    with caplog.at_level("INFO", "catalog.audit"):
        assert "1 accepted. A worker reads acme again" in act(ada, QUARANTINE, "accept", row)
    ruling, errand = Ruling.objects.get(), Errand.objects.get()
    assert (ruling.verdict, ruling.decided_by, ruling.key) == ("accepted", "ada", "k1")
    assert (errand.kind, errand.run_id, errand.asked_by) == ("replay", row.run_id, "ada")
    assert "'ada' accepted 'rows[0]' of acme" in caplog.text
    entry = LogEntry.objects.get()
    assert (entry.user.username, entry.get_change_message()) == ("ada", "accepted")
    assert "unknown GPU name" in entry.object_repr


def test_what_is_decided_is_open_no_more_and_is_found_by_its_state(ada: Client) -> None:
    one, other = refused(unknown(), unknown("H901", "k2"))
    act(ada, QUARANTINE, "accept", one)
    act(ada, QUARANTINE, "reject", other)
    found = {
        state: [row.pk for row in ada.get(QUARANTINE, asked).context["cl"].result_list]
        for state, asked in {
            "open": {}, "accepted": {"state": "accepted"}, "rejected": {"state": "rejected"},
            "all": {"state": "all"},
        }.items()
    }  # fmt: skip
    assert found == {
        "open": [], "accepted": [one.pk], "rejected": [other.pk], "all": [one.pk, other.pk],
    }  # fmt: skip
    assert "rejected by ada" in ada.get(QUARANTINE, {"state": "rejected"}).content.decode()


def test_a_row_that_is_no_offer_cannot_be_accepted_and_the_page_says_why(ada: Client) -> None:
    rows = refused(unknown(), Rejected("price: 'oops' is no number", "rows[7]", "{}"))
    assert "no offer to publish in rows[7]" in act(ada, QUARANTINE, "accept", *rows)
    assert not Ruling.objects.exists()


def test_a_ruling_that_is_deleted_is_an_open_question_again(ada: Client) -> None:
    (row,) = refused(unknown())
    act(ada, QUARANTINE, "reject", row)
    ada.post(f"/admin/catalog/ruling/{Ruling.objects.get().pk}/delete/", {"post": "yes"})
    assert QuarantinedRow.objects.open().get() == row


# --- Words ------------------------------------------------------------------------------------


def test_teaching_leads_to_a_form_that_is_filled_in(ada: Client) -> None:
    (row,) = refused(unknown())
    page = act(ada, QUARANTINE, "teach_alias", row)
    assert 'value="H900 Ultra"' in page
    taught = {"kind": "gpu", "provider": "acme", "words": row.about, "target": "h100-sxm5-80gb"}
    ada.post(f"{ALIASES}add/", taught)
    alias = Alias.objects.get()
    assert (alias.words, alias.target, alias.taught_by) == ("H900 Ultra", "h100-sxm5-80gb", "ada")
    assert Errand.objects.get().run_id == row.run_id


def test_an_unknown_meaning_is_refused_with_those_near_it_named(ada: Client) -> None:
    refused(unknown())
    wrong = {"kind": "gpu", "provider": "acme", "words": "H900", "target": "h900"}
    page = ada.post(f"{ALIASES}add/", wrong).content.decode()
    assert "is no gpu of ours; near it are" in page
    assert "mi300x" not in page.split("near it are")[1].split("</")[0]
    assert "h100-sxm5-80gb" in page
    place = {"kind": "region", "provider": "acme", "words": "Christiania", "target": "paris"}
    assert "there are oslo." in ada.post(f"{ALIASES}add/", place).content.decode()
    assert not Alias.objects.exists()


def test_a_meaning_can_be_corrected(ada: Client) -> None:
    alias = Alias.objects.create(kind="gpu", words="H900", target="h100-sxm5-80gb", taught_by="x")
    ada.post(f"{ALIASES}{alias.pk}/change/", {"target": "h200-sxm5-141gb"})
    alias.refresh_from_db()
    assert (Alias.objects.count(), alias.target, alias.taught_by) == (1, "h200-sxm5-141gb", "ada")


def test_a_gate_has_its_title_in_rows_filters_and_rulings(ada: Client) -> None:
    (row,) = refused(unknown())
    act(ada, QUARANTINE, "reject", row)
    for address in (f"{QUARANTINE}?state=all", "/admin/catalog/ruling/"):
        page = ada.get(address).content.decode()
        assert re.search(r"field-gate_title[^>]*>\s*GPU that nobody knows", page), address
        assert ">unknown_gpu<" not in page
    assert set(GATES) == set(Gate)


def test_the_newest_run_comes_first(ada: Client) -> None:
    old, new = scrape([offer()]), scrape([offer()], days=1)
    page = ada.get(RUNS).content.decode()
    assert page.index(str(new.pk)) < page.index(str(old.pk))


# --- Lists ------------------------------------------------------------------------------------


@pytest.fixture
def held(eight: Callable[[], list[Any]]) -> ScrapeRun:
    """A list that has lost most of its rows."""
    scrape(eight())
    return scrape(eight()[:2], days=1)


def test_a_held_list_is_accepted_through_an_errand_or_refused_at_once(
    ada: Client, held: ScrapeRun
) -> None:
    assert "A worker will approve the list of acme" in act(ada, RUNS, "approve", held)
    assert (Errand.objects.get().kind, Errand.objects.get().run) == ("approve", held)
    assert "The list of acme is refused" in act(ada, RUNS, "refuse", held)
    held.refresh_from_db()
    assert (held.state, held.decided_by) == (RunState.REJECTED, "ada")
    assert "nothing to approve" in act(ada, RUNS, "approve", held)


# --- Who may ----------------------------------------------------------------------------------


def test_who_may_look_may_not_decide(client: Client) -> None:
    eve = User.objects.create_user("eve", is_staff=True)
    eve.user_permissions.add(
        *Permission.objects.filter(codename__in=["view_quarantinedrow", "view_scraperun"])
    )
    client.force_login(eve)
    (row,) = refused(unknown())
    assert client.get(QUARANTINE).status_code == 200
    act(client, QUARANTINE, "accept", row)
    act(client, QUARANTINE, "reject", row)
    act(client, RUNS, "replay", row.run)
    assert not Ruling.objects.exists()
    assert not Errand.objects.exists()
    assert client.get(f"{ALIASES}add/").status_code == 403


def test_who_is_nobody_sees_the_login_alone(client: Client) -> None:
    for address in (QUARANTINE, ALIASES, RUNS, "/admin/catalog/rawpayload/x/bytes/"):
        assert client.get(address)["Location"].startswith("/admin/login/?next=")
