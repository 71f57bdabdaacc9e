"""The pages: a form that works without a script, a log, buttons, and nothing of another's."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.template import Context, Template
from django.test import Client
from django.urls import reverse

from comparisons.models import Comparison
from tests.watches.conftest import HOOK, offer, run, watch_of
from watches import outbox
from watches.models import Watch

pytestmark = pytest.mark.django_db
FORM = {
    "what": "price",
    "threshold": "7.5",
    "channel": "webhook",
    "url": "https://8.8.8.8/in",
    "pace": "daily",
}


@pytest.fixture
def browser(buyer: User) -> Client:
    client = Client()
    client.force_login(buyer)
    return client


def test_the_form_makes_a_watch_and_shows_its_secret_this_once(
    browser: Client, comparison: Comparison
) -> None:
    page = browser.post(reverse("watch-comparison", args=[comparison.pk]), FORM)
    assert page.status_code == 200
    watch = Watch.objects.get()
    assert (watch.threshold, watch.url, watch.pace) == (7.5, "https://8.8.8.8/in", "daily")
    assert page.content.count(b"fswh_") == 1
    assert "no-store" in page["Cache-Control"]
    again = browser.get(reverse("watch", args=[watch.pk]))
    assert b"fswh_" not in again.content
    rotated = browser.post(reverse("watch-secret", args=[watch.pk]))
    assert b"fswh_" in rotated.content


def test_the_form_says_what_is_wrong_and_keeps_what_was_written(
    browser: Client, comparison: Comparison
) -> None:
    wrong = FORM | {"url": "https://localhost/<script>", "threshold": "many"}
    page = browser.post(reverse("watch-comparison", args=[comparison.pk]), wrong)
    assert page.status_code == 400
    text = page.content.decode()
    assert "not on the public internet" in text
    assert "percent from 0 to 1000" in text
    assert "https://localhost/&lt;script&gt;" in text
    assert "<script>" not in text
    assert Watch.objects.count() == 0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"what": "spec", "channel": "mail"}, (None, "", "daily")),
        ({"what": "rank", "threshold": "", "channel": "mail"}, (1.0, "", "daily")),
        ({"what": "availability", "channel": "mail", "pace": "at_once"}, (None, "", "at_once")),
    ],
)  # fmt: skip
def test_what_does_not_belong_to_the_choice_is_left_out(
    browser: Client, comparison: Comparison, given: dict[str, str], kept: tuple[Any, ...]
) -> None:
    page = browser.post(reverse("watch-comparison", args=[comparison.pk]), FORM | given)
    watch = Watch.objects.get()
    assert page.url == reverse("watch", args=[watch.pk])
    assert (watch.threshold, watch.url, watch.pace) == kept


def test_a_comparisons_page_has_the_form_and_the_watches(
    browser: Client, comparison: Comparison
) -> None:
    watch = watch_of(comparison)
    outbox.test(watch)
    html = Template("{% load watches %}{% watches_of comparison %}").render(
        Context({"comparison": comparison, "csrf_token": "token"})
    )
    assert reverse("watch-comparison", args=[comparison.pk]) in html
    assert reverse("watch", args=[watch.pk]) in html
    assert "hooks.example" in html
    assert 'value="token"' in html


def test_the_log_shows_what_became_of_each_and_escapes_what_strangers_wrote(
    browser: Client, comparison: Comparison, receiver: Any
) -> None:
    from tests.scrapers.loopback import Answer

    receiver(Answer(b"<b>their secret</b>", status=500))
    Comparison.objects.update(name='<script>alert(1)</script>{{7*7}}"><img onerror=x>')
    comparison.refresh_from_db()
    evil = "acme/<img onerror=x>\u202e;on_demand"
    watch = watch_of(comparison)
    run(comparison, [offer(evil, "2")])
    run(comparison, [offer(evil, "3")])
    assert outbox.deliver_next()
    for name in ("watch", "account-watches"):
        args = [watch.pk] if name == "watch" else []
        text = browser.get(reverse(name, args=args)).content.decode()
        assert "<script>alert" not in text
        assert "<img" not in text
        assert "{{7*7}}" in text
        assert "\u202e" not in text
        assert "their secret" not in text
        assert "answered 500" in text
        assert 'style="' not in text


def test_the_buttons(browser: Client, comparison: Comparison, receiver: Any) -> None:
    receiver()
    watch = watch_of(comparison)

    def press(name: str, **data: str) -> Any:
        return browser.post(reverse(f"watch-{name}", args=[watch.pk]), data, follow=True)

    assert b"within a quarter of a minute" in press("test").content
    assert b"waiting already" in press("test").content
    press("pause")
    watch.refresh_from_db()
    assert (watch.active, watch.stopped) == (False, "owner")
    press("resume")
    assert outbox.deliver_next()
    page = browser.get(reverse("watch", args=[watch.pk])).content.decode()
    assert "delivered" in page
    event = watch.events.get()
    browser.post(reverse("delivery-again", args=[event.pk]))
    assert outbox.deliver_next()
    assert press("change", threshold="3", url=f"{HOOK}/else").status_code == 200
    watch.refresh_from_db()
    assert (watch.threshold, watch.url) == (3.0, f"{HOOK}/else")
    assert press("change", threshold="3", url="https://127.0.0.1/").status_code == 400
    press("delete")
    assert Watch.objects.count() == 0


def test_a_post_without_the_csrf_token_is_refused(buyer: User, comparison: Comparison) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(buyer)
    watch = watch_of(comparison)
    assert client.post(reverse("watch-delete", args=[watch.pk])).status_code == 403
