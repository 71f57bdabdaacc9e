"""The digest: one plain mail for all that is due, in its reader's language, through the outbox."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail as sent
from django.db.models.functions import Now

from accounts.models import ConfirmedAddress
from comparisons.models import Comparison
from tests.watches.conftest import offer, run, watch_of
from watches import outbox
from watches.models import Delivery, Event, State, Watch

pytestmark = pytest.mark.django_db
A, B = "acme/h100x8;on_demand", "bolt/h200x8;on_demand"


def change(comparison: Comparison, *prices: str) -> None:
    for usd in prices:
        run(comparison, [offer(A, usd)])


def it_is_morning() -> None:
    Delivery.objects.filter(state=State.SCHEDULED).update(next_attempt_at=Now())


@pytest.mark.parametrize(
    ("now", "then"),
    [("2026-11-29T06:59", "2026-11-29T07:00"), ("2026-11-29T07:00", "2026-11-30T07:00"),
     ("2026-12-31T23:59", "2027-01-01T07:00")],
)  # fmt: skip
def test_the_days_mail_goes_out_at_seven(now: str, then: str) -> None:
    at = datetime.fromisoformat(now).replace(tzinfo=UTC)
    assert outbox.next_digest(at) == datetime.fromisoformat(then).replace(tzinfo=UTC)


def test_one_mail_a_day_tells_everything(comparison: Comparison, buyer: User) -> None:
    other = Comparison.objects.create(
        owner=buyer, name="Another", objective="usd_per_mtoken", currency="USD"
    )
    for each in (comparison, other):
        watch_of(each, channel="mail")
        change(each, "2", "3", "4")
    assert not outbox.deliver_next(), "it is not seven yet"
    due = Delivery.objects.order_by("next_attempt_at").values_list("next_attempt_at", flat=True)
    assert {at.hour for at in due} == {7}
    it_is_morning()
    assert outbox.deliver_next()
    assert not outbox.deliver_next()
    [letter] = sent.outbox
    assert letter.to == ["buyer@example.com"]
    assert letter.subject == "FabricScout: 4 changes"
    assert letter.body.count("Acme h100x8, on demand") == 4
    assert f"/comparisons/{other.pk}/" in letter.body
    assert A not in letter.body, "a key is for machines"
    for words in ("Two clusters", "Another", "$2.00 → $3.00 (+50.0 %)", "/account/watches/"):
        assert words in letter.body
    assert letter.content_subtype == "plain"
    assert {d.state for d in Delivery.objects.all()} == {State.DELIVERED}


def test_at_once_is_at_once(comparison: Comparison) -> None:
    watch_of(comparison, channel="mail", pace="at_once")
    change(comparison, "2", "3")
    assert outbox.deliver_next()
    assert len(sent.outbox) == 1


def test_two_people_get_a_mail_each(comparison: Comparison) -> None:
    second = User.objects.create_user("b@example.com", "b@example.com")
    ConfirmedAddress.objects.create(user=second)
    theirs = Comparison.objects.create(owner=second, name="B's", objective="x", currency="USD")
    for each in (comparison, theirs):
        watch_of(each, channel="mail", pace="at_once")
        change(each, "2", "3")
    while outbox.deliver_next():
        pass
    assert sorted(letter.to[0] for letter in sent.outbox) == ["b@example.com", "buyer@example.com"]
    assert all(("B's" in m.body) == (m.to == ["b@example.com"]) for m in sent.outbox)


def test_it_is_in_the_readers_language(comparison: Comparison) -> None:
    watch_of(comparison, channel="mail", pace="at_once", language="ja")
    change(comparison, "2", "3")
    outbox.deliver_next()
    assert "1 件の変更" in sent.outbox[0].subject
    assert "通知" in sent.outbox[0].body


def test_what_strangers_wrote_stays_in_its_line(comparison: Comparison) -> None:
    Comparison.objects.update(name="x\r\nBcc: all@example.com\u202e<script>")
    comparison.refresh_from_db()
    watch_of(comparison, channel="mail", pace="at_once")
    for usd in ("2", "3"):
        run(comparison, [offer("acme/a\r\nBcc: evil\x1b[2J\u2066", usd)])
    outbox.deliver_next()
    [letter] = sent.outbox
    assert "x Bcc: all@example.com<script>" in letter.body
    assert not {"\u202e", "\u2066", "\x1b", "\r"} & set(letter.body)
    assert letter.bcc == []


def test_a_mail_server_that_is_away_is_tried_again_and_a_repeat_is_the_same_message(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.core.mail.backends.locmem import EmailBackend

    watch_of(comparison, channel="mail", pace="at_once")
    change(comparison, "2", "3")
    seen: list[str] = []

    def away(_self: object, messages: list[Any]) -> int:
        seen.extend(m.extra_headers["Message-ID"] for m in messages)
        raise ConnectionRefusedError

    with monkeypatch.context() as patch:
        patch.setattr(EmailBackend, "send_messages", away)
        assert outbox.deliver_next()
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.failure) == (State.SCHEDULED, "no_post")
    assert delivery.next_attempt_at - outbox.clock() > timedelta(seconds=5)
    it_is_morning()
    assert outbox.deliver_next()
    assert seen == [sent.outbox[0].extra_headers["Message-ID"]]


def test_an_address_that_nobody_confirmed_gets_nothing(comparison: Comparison) -> None:
    ConfirmedAddress.objects.all().delete()
    watch_of(comparison, channel="mail", pace="at_once")
    change(comparison, "2", "3")
    assert outbox.deliver_next()
    assert sent.outbox == []
    assert Delivery.objects.get().failure == "no_address"


def test_a_test_mail_goes_out_now(comparison: Comparison) -> None:
    outbox.test(watch_of(comparison, channel="mail"))
    assert outbox.deliver_next()
    assert "test" in sent.outbox[0].subject
    assert Watch.objects.get().last_number == 1


def test_a_mail_waits_for_an_older_one_that_is_tried_again(comparison: Comparison) -> None:
    watch_of(comparison, channel="mail", pace="at_once")
    change(comparison, "2", "3", "4")
    first = Delivery.objects.order_by("event__number")[0]
    later = Now() + timedelta(minutes=5)
    Delivery.objects.filter(pk=first.pk).update(next_attempt_at=later)
    assert not outbox.deliver_next()
    second = Delivery.objects.with_turn().select_related("event").exclude(pk=first.pk).get()
    first.refresh_from_db()
    assert second.next_try_at == first.next_attempt_at
    it_is_morning()
    assert outbox.deliver_next()
    assert len(sent.outbox) == 1


def test_what_is_past_is_let_go_and_the_numbers_stay_whole(comparison: Comparison) -> None:
    watch_of(comparison, channel="mail", pace="at_once")
    change(comparison, "2", "3", "4")
    outbox.deliver_next()
    assert outbox.forget() == 0
    Event.objects.filter(number=1).update(created_at=Now() - timedelta(days=91))
    assert outbox.forget() == 1
    assert [event.number for event in Event.objects.all()] == [2]
