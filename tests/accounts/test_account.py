"""The account's own page: tokens seen once, nothing of another's, and the end of it all."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection, models
from django.test import Client
from django.utils import timezone

from accounts import mail, retention
from accounts.models import ConfirmedAddress, KeptAnswer, Scope, Token
from comparisons.models import Comparison, Run, Share
from tests.accounts.people import PASSWORD
from watches.models import Channel, Delivery, Event, Kind, Watch, What

pytestmark = pytest.mark.django_db
ACCOUNT = "/account/"


def made(who: Client, **fields: str) -> str:
    """The page after a token was asked for."""
    given = {"name": "nightly", "scope": "read"} | fields
    return who.post("/account/tokens/", given).content.decode()


def secret_in(page: str) -> str:
    found = re.search(r'<code class="nm" id="secret">(fs_\w+)</code>', page)
    return found[1] if found else ""


def api(secret: str) -> Any:
    return Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {secret}"})


# --- Tokens -----------------------------------------------------------------------------------


def test_a_secret_is_shown_once_and_works_until_it_is_revoked(signed_in: Client) -> None:
    secret = secret_in(made(signed_in, scope="write"))
    assert api(secret).json()["token"]["scope"] == "write"
    page = signed_in.get(ACCOUNT).content.decode()
    assert (secret in page, secret[:11] in page) == (False, True)
    signed_in.post(f"/account/tokens/{Token.objects.get().pk}/revoke/")
    assert api(secret).status_code == 401
    assert secret[:11] not in signed_in.get(ACCOUNT).content.decode()


@pytest.mark.parametrize("wrong", [{"name": ""}, {"scope": "admin"}, {"name": "x" * 81}])
def test_a_token_has_a_name_and_a_scope(signed_in: Client, wrong: dict[str, str]) -> None:
    assert secret_in(made(signed_in, **wrong)) == ""
    assert not Token.objects.exists()


def test_a_name_is_text_and_never_markup(signed_in: Client) -> None:
    page = made(signed_in, name='<img src=x onerror="alert(1)">')
    assert "<img" not in page


def test_an_account_has_twenty_tokens_at_most(ada: User, signed_in: Client) -> None:
    for n in range(20):
        Token.objects.issue(ada, str(n), Scope.READ)
    assert secret_in(made(signed_in)) == ""
    Token.objects.filter(name="3").revoke()
    assert secret_in(made(signed_in))


def test_a_token_of_another_is_not_there(signed_in: Client) -> None:
    eve = User.objects.create_user("eve@example.org")
    token, secret = Token.objects.issue(eve, "hers", Scope.WRITE)
    assert signed_in.post(f"/account/tokens/{token.pk}/revoke/").status_code == 404
    assert "hers" not in signed_in.get(ACCOUNT).content.decode()
    own = secret_in(made(signed_in, scope="write"))
    bearer = {"Authorization": f"Bearer {own}"}
    assert Client().delete(f"/api/v1/tokens/{token.pk}/", headers=bearer).status_code == 404
    assert api(secret).status_code == 200


def test_a_script_sees_itself_and_may_end_itself(
    ada: User, signed_in: Client, settings: Any
) -> None:
    settings.API_PER_MINUTE_TOKEN = 600
    secret = secret_in(made(signed_in, scope="write"))
    bearer = {"Authorization": f"Bearer {secret}"}
    me = api(secret).json()
    assert (me["user"], me["requests_per_minute"]) == (ada.username, 600)
    listed = Client().get("/api/v1/tokens/", headers=bearer)
    assert [row["name"] for row in listed.json()["results"]] == ["nightly"]
    assert secret not in listed.content.decode()
    no_such = Client().delete(f"/api/v1/tokens/{10**40}/", headers=bearer)
    assert no_such.status_code == 404
    ended = Client().delete(f"/api/v1/tokens/{me['token']['id']}/", headers=bearer)
    assert (ended.status_code, api(secret).status_code) == (204, 401)


def test_a_reading_script_ends_nothing(signed_in: Client) -> None:
    secret = secret_in(made(signed_in))
    door = f"/api/v1/tokens/{Token.objects.get().pk}/"
    answer = Client().delete(door, headers={"Authorization": f"Bearer {secret}"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "permission_denied")


def test_me_without_a_token_is_a_session_or_a_401(signed_in: Client) -> None:
    assert signed_in.get("/api/v1/me/").json()["token"] is None
    assert Client().get("/api/v1/me/").status_code == 401


# --- The end ----------------------------------------------------------------------------------


def fill(owner: User) -> None:
    """Something in every table of a person's, down to a delivery of an event of a watch."""
    Token.objects.issue(owner, "ci", Scope.READ)
    ConfirmedAddress.objects.create(user=owner)
    KeptAnswer.objects.create(user=owner)
    comparison = Comparison.objects.create(owner=owner, name="H100s", objective="time")
    run = Run.objects.create(comparison=comparison, catalog_version=1, results={})
    Share.make(comparison)
    watch = Watch.objects.create(
        owner=owner, comparison=comparison, what=What.PRICE, channel=Channel.MAIL
    )
    event = Event.objects.create(watch=watch, number=1, kind=Kind.CHANGED, run=run, payload={})
    Delivery.objects.create(event=event)


KEPT = (Token, ConfirmedAddress, KeptAnswer, Comparison, Run, Share, Watch, Event, Delivery)


def test_everything_that_is_someones_goes_with_them(ada: User, signed_in: Client) -> None:
    eve = User.objects.create_user("eve@example.org")
    for owner in (ada, eve):
        fill(owner)
    answer = signed_in.post("/account/delete/", {"password": PASSWORD}, follow=True)
    assert "deleted" in answer.content.decode()
    assert list(User.objects.all()) == [eve]
    assert [table.objects.count() for table in KEPT] == [1] * len(KEPT)
    assert Delivery.objects.get().event.watch.owner == eve
    assert signed_in.get(ACCOUNT).status_code == 302


@pytest.mark.django_db(transaction=True)
def test_mails_that_are_files_go_with_the_account_they_are_to(
    ada: User, settings: Any, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND = "accounts.mail_files.EmailBackend"
    settings.EMAIL_FILE_PATH = tmp_path
    eve = User.objects.create_user("eve@example.org", f"not.{ada.email}")
    for owner in (ada, *[eve] * 5):
        mail.confirm(owner)
    assert len(list(tmp_path.iterdir())) == 6
    ada.delete()
    left = [file.read_text() for file in tmp_path.iterdir()]
    assert len(left) == 5
    assert all(f"To: {eve.email}" in each for each in left)


@pytest.mark.parametrize("room", ["accounts", "comparisons", "watches", "measurements"])
def test_no_table_of_ours_keeps_what_a_deleted_user_owned(room: str) -> None:
    """Whatever names a user goes with the user; a new table is held to it without a word here."""
    for model in apps.get_app_config(room).get_models():
        for field in model._meta.get_fields():
            if isinstance(field, models.ForeignKey) and field.related_model is User:
                assert field.remote_field.on_delete is models.CASCADE, f"{model}.{field.name}"


def test_only_the_password_deletes(ada: User, signed_in: Client) -> None:
    for password in ("", "wrong", PASSWORD.upper()):
        assert signed_in.post("/account/delete/", {"password": password}).status_code == 200
    assert signed_in.get("/account/delete/").status_code == 200
    assert User.objects.filter(pk=ada.pk).exists()


def test_a_stolen_session_does_not_guess_the_password(signed_in: Client) -> None:
    tries = [signed_in.post("/account/delete/", {"password": "wrong"}) for _ in range(11)]
    assert [answer.status_code for answer in tries] == [200] * 10 + [429]


def test_who_decided_in_the_admin_stays_on_record(ada: User, signed_in: Client) -> None:
    User.objects.update(is_staff=True)
    signed_in.post("/account/delete/", {"password": PASSWORD})
    assert User.objects.exists()


def test_ended_sessions_and_old_tokens_are_let_go(ada: User, signed_in: Client) -> None:
    assert Session.objects.count() == 1
    token, _ = Token.objects.issue(ada, "old", Scope.READ)
    Token.objects.issue(ada, "in use", Scope.READ)
    Token.objects.filter(pk=token.pk).update(revoked_at=timezone.now() - timedelta(days=91))
    retention.forget()
    assert (Session.objects.count(), Token.objects.count()) == (1, 1)
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    retention.forget()
    assert Session.objects.count() == 0


# --- What the frame shows, and who may keep it ------------------------------------------------

PAGES = ("/", "/providers/", "/workloads/", "/learn/values/", "/account/sign-in/")


def test_the_frame_asks_the_database_for_the_catalogs_version_and_its_time_alone(
    signed_in: Client, django_assert_num_queries: Callable[[int], Any]
) -> None:
    signed_in.get("/learn/values/")  # what is in a version is counted once
    with django_assert_num_queries(2):
        page = signed_in.get("/learn/values/").content.decode()
    assert 'href="/account/"' in page
    with django_assert_num_queries(2):
        page = Client().get("/learn/values/").content.decode()
    assert 'href="/account/sign-in/"' in page


@pytest.mark.parametrize("page", PAGES)
def test_a_page_is_for_all_only_when_nobody_in_particular_reads_it(
    signed_in: Client, page: str
) -> None:
    answers = {"nobody": Client().get(page), "ada": signed_in.get(page)}
    for answer in answers.values():
        varies = {name.strip() for name in answer["Vary"].split(",")}
        assert {"Cookie", "Accept-Language"} <= varies
    assert (
        answers["ada"]["Cache-Control"].startswith("private") or answers["ada"].status_code == 302
    )
    open_to_all = "public" in answers["nobody"]["Cache-Control"]
    assert open_to_all == (page != "/account/sign-in/")  # it sets a cookie
    assert open_to_all == (not answers["nobody"].cookies)


def test_pages_of_an_account_are_kept_by_nobody(signed_in: Client) -> None:
    for page in (ACCOUNT, "/account/password/", "/account/delete/"):
        assert "no-store" in signed_in.get(page)["Cache-Control"]
    assert "no-store" in signed_in.post("/account/tokens/", {"name": "x"})["Cache-Control"]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_theme_stays_until_the_system_decides_again(theme: str) -> None:
    reader = Client()
    assert "data-theme" not in reader.get("/learn/values/").content.decode()
    assert reader.get(f"/theme/{theme}/?next=/providers/")["Location"] == "/providers/"
    assert f'data-theme="{theme}"' in reader.get("/learn/values/").content.decode()
    reader.get("/theme/system/")
    assert "data-theme" not in reader.get("/learn/values/").content.decode()


def test_a_theme_is_one_of_ours() -> None:
    assert Client().get("/theme/%22onload/").status_code == 404
    reader = Client()
    reader.cookies["theme"] = '"><script>'
    assert "<script>" not in reader.get("/learn/values/").content.decode()


def test_every_page_of_an_account_keeps_the_policy(signed_in: Client) -> None:
    for page in (ACCOUNT, "/account/password/", "/account/delete/"):
        answer = signed_in.get(page)
        text = answer.content.decode()
        assert "default-src 'none'" in answer["Content-Security-Policy"]
        assert text.count("<h1") == 1
        assert not re.search(r"<script(?! src)|style=|\son\w+=", text)
    assert connection.is_usable()
