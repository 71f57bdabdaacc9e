"""Into an account and out of it: one per address, no guessing, no session that outlives its end."""

import statistics
import time
from collections.abc import Callable, Iterator

import pytest
import redis
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.db import IntegrityError
from django.http import HttpResponse
from django.test import Client, RequestFactory

from accounts import limits
from tests.accounts.people import PASSWORD, somewhere

pytestmark = pytest.mark.django_db
SIGN_IN, SIGN_UP, ACCOUNT = "/account/sign-in/", "/account/sign-up/", "/account/"


def sign_in(who: Client, email: str, password: str = PASSWORD, **more: str) -> HttpResponse:
    return who.post(SIGN_IN, {"username": email, "password": password, **more})


def is_signed_in(who: Client) -> bool:
    return who.get(ACCOUNT).status_code == 200


# --- An account -------------------------------------------------------------------------------


def filled(email: str, **more: str) -> dict[str, str]:
    return {"email": email, "password1": PASSWORD, "password2": PASSWORD} | more


@pytest.mark.django_db(transaction=True)
def test_who_signs_up_is_let_in_and_asked_to_confirm_the_address(
    visitor: Client, mailed: Callable[[], EmailMessage], email: str
) -> None:
    answer = visitor.post(SIGN_UP, filled(email.upper()), follow=True)
    assert answer.redirect_chain == [(ACCOUNT, 302)]
    user = User.objects.get()
    assert (user.username, user.email) == (email, email)
    assert user.password.startswith("scrypt$")
    assert mailed().to == [email]


def test_what_else_a_form_brings_changes_nothing(
    visitor: Client, email: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("accounts.mail.confirm", lambda _user: None)
    extra = {"is_staff": "1", "is_superuser": "1", "id": "1", "username": "root"}
    visitor.post(SIGN_UP, filled(email, **extra))
    user = User.objects.get()
    assert (user.username, user.is_staff, user.is_superuser) == (email, False, False)


def test_an_address_has_one_account_however_it_is_written(ada: User, visitor: Client) -> None:
    answer = visitor.post(SIGN_UP, filled(ada.email.upper()))
    assert "There is an account with this e-mail address" in answer.content.decode()
    with pytest.raises(IntegrityError):
        User.objects.create_user("another", ada.email.upper())


@pytest.mark.parametrize(
    ("password", "why"),
    [("short", "too short"), ("password123", "too common"), ("ada@example.org", "too similar")],
)
def test_a_password_is_hard_to_guess(visitor: Client, db: None, password: str, why: str) -> None:
    answer = visitor.post(
        SIGN_UP, {"email": "ada@example.org", "password1": password, "password2": password}
    )
    assert why in answer.content.decode()
    assert not User.objects.exists()


@pytest.mark.parametrize(
    "email", ["", "ada", "ada@", "a@b\x00.org", "@" * 10_000, "a" * 300 + "@b.org"]
)
def test_what_is_no_address_makes_no_account(visitor: Client, db: None, email: str) -> None:
    assert visitor.post(SIGN_UP, filled(email)).status_code == 200
    assert not User.objects.exists()


# --- A session --------------------------------------------------------------------------------


def test_signing_in_leads_to_where_one_was_going(ada: User, visitor: Client) -> None:
    asked = visitor.get("/account/password/")
    assert asked["Location"] == "/account/sign-in/?next=/account/password/"
    assert sign_in(visitor, ada.email.upper(), next="/account/password/")["Location"] == (
        "/account/password/"
    )


@pytest.mark.parametrize(
    "there",
    ["//evil.example", "/\\evil.example", "https://evil.example/", "javascript:alert(1)",
     "///evil.example", "http:///evil.example", "\t//evil.example", "https:evil.example"],
)  # fmt: skip
def test_no_address_leads_out_of_the_service(ada: User, visitor: Client, there: str) -> None:
    assert sign_in(visitor, ada.email, next=there)["Location"] == ACCOUNT
    for door in ("/language/ja/", "/theme/dark/"):
        assert visitor.get(door, {"next": there})["Location"] == "/"


def test_a_session_set_before_signing_in_is_not_the_one_after(ada: User, visitor: Client) -> None:
    session = visitor.session
    session["planted"] = "by someone else"
    session.save()
    visitor.cookies["sessionid"] = planted = str(session.session_key)
    sign_in(visitor, ada.email)
    assert visitor.cookies["sessionid"].value != planted
    assert not is_signed_in(with_cookie(planted))
    assert is_signed_in(visitor)


def with_cookie(session: str) -> Client:
    client = Client(REMOTE_ADDR=somewhere())
    client.cookies["sessionid"] = session
    return client


def test_the_cookie_is_dead_after_signing_out(signed_in: Client) -> None:
    kept = signed_in.cookies["sessionid"].value
    assert is_signed_in(with_cookie(kept))
    assert signed_in.get("/account/sign-out/").status_code == 405
    signed_in.post("/account/sign-out/")
    assert not is_signed_in(with_cookie(kept))


def test_a_new_password_ends_all_other_sessions(ada: User, signed_in: Client) -> None:
    other, before = Client(), signed_in.cookies["sessionid"].value
    other.force_login(ada)
    changed = {"old_password": PASSWORD, "new_password1": "staple battery horse"}
    changed["new_password2"] = changed["new_password1"]
    assert signed_in.post("/account/password/", changed)["Location"] == ACCOUNT
    assert is_signed_in(signed_in)
    assert not is_signed_in(other)
    assert not is_signed_in(with_cookie(before))


def test_the_cookie_is_for_this_service_alone(ada: User, visitor: Client) -> None:
    sign_in(visitor, ada.email)
    cookie = visitor.cookies["sessionid"]
    assert (cookie["httponly"], cookie["samesite"], cookie["domain"]) == (True, "Lax", "")


# --- No guessing ------------------------------------------------------------------------------


def test_an_account_is_tried_ten_times_in_five_minutes_from_wherever(ada: User) -> None:
    for _ in range(10):
        assert sign_in(Client(REMOTE_ADDR=somewhere()), ada.email, "wrong").status_code == 200
    answer = sign_in(Client(REMOTE_ADDR=somewhere()), ada.email)
    assert (answer.status_code, 0 < int(answer["Retry-After"]) <= 300) == (429, True)
    assert "Come again in" in answer.content.decode()
    assert not User.objects.exclude(last_login=None).exists()


def test_who_knows_the_password_is_not_counted_out(ada: User) -> None:
    for _ in range(3):
        for _ in range(5):
            sign_in(Client(REMOTE_ADDR=somewhere()), ada.email, "wrong")
        assert sign_in(Client(REMOTE_ADDR=somewhere()), ada.email).status_code == 302


def cheap(settings: object) -> None:
    """For tests that try many passwords, and are not about their hashes."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # type: ignore[attr-defined]


def one_try_on_each(who: Client, email: str, accounts: int = 40) -> list[int]:
    return [sign_in(who, f"{n}{email}", "wrong").status_code for n in range(accounts)]


def test_an_address_tries_thirty_accounts_in_five_minutes(
    visitor: Client, db: None, email: str, settings: object
) -> None:
    cheap(settings)
    assert one_try_on_each(visitor, email) == [200] * 30 + [429] * 10


def test_the_same_holds_while_redis_is_dead(
    visitor: Client, db: None, email: str, settings: object, dead_redis: None
) -> None:
    cheap(settings)
    assert one_try_on_each(visitor, email) == [200] * 30 + [429] * 10


@pytest.fixture
def dead_redis(monkeypatch: pytest.MonkeyPatch, settings: object) -> Iterator[None]:
    """Nothing listens where it should be."""
    settings.REDIS_URL = "redis://127.0.0.1:1/0"  # type: ignore[attr-defined]
    breaker = limits._Breaker()
    monkeypatch.setattr(limits, "_breaker", breaker)
    limits._client.cache_clear()
    with pytest.raises(redis.ConnectionError):
        limits._client().ping()
    yield
    limits._client.cache_clear()
    breaker.is_open = False  # nobody watches for it any more


def test_the_admin_is_no_second_way_to_guess(ada: User) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    for _ in range(10):
        sign_in(Client(REMOTE_ADDR=somewhere()), ada.email, "wrong")
    admin = Client(REMOTE_ADDR=somewhere())
    admin.post("/admin/login/", {"username": ada.email, "password": PASSWORD})
    assert admin.get("/admin/").status_code == 302


def test_an_account_that_does_not_exist_takes_as_long_as_a_wrong_password(ada: User) -> None:
    def seconds(name: str) -> float:
        request = RequestFactory().post(SIGN_IN, REMOTE_ADDR=somewhere())
        began = time.thread_time()
        assert authenticate(request, username=name, password="wrong") is None
        return time.thread_time() - began

    pairs = [(seconds(ada.username), seconds(f"no{ada.username}")) for _ in range(9)]
    wrong, unknown = (statistics.median(times) for times in zip(*pairs, strict=True))
    assert unknown == pytest.approx(wrong, rel=0.15)


def test_a_shut_account_answers_like_a_wrong_password(ada: User, visitor: Client) -> None:
    User.objects.update(is_active=False)
    said = [sign_in(visitor, ada.email, each).content.decode() for each in (PASSWORD, "wrong")]
    assert all("No account has this e-mail address and this password." in page for page in said)


# --- From a form of ours ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "door", [SIGN_IN, SIGN_UP, "/account/sign-out/", "/account/tokens/", "/account/delete/"]
)
@pytest.mark.parametrize("headers", [{}, {"HX-Request": "true"}])
def test_a_form_of_another_site_is_refused(ada: User, door: str, headers: dict[str, str]) -> None:
    victim = Client(enforce_csrf_checks=True, REMOTE_ADDR=somewhere())
    victim.force_login(ada)
    assert victim.post(door, {"name": "x", "scope": "write"}, headers=headers).status_code == 403
    token = victim.get("/account/").cookies["csrftoken"].value
    foreign = headers | {"Origin": "https://evil.example", "X-CSRFToken": token}
    assert victim.post(door, {}, headers=foreign).status_code == 403
