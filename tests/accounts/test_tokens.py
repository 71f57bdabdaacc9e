"""A token is its user, within its scope, until it is revoked; of its secret only a hash is kept."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

from accounts.access import SignedIn
from accounts.models import Scope, Token

pytestmark = pytest.mark.django_db


class Mine(APIView):
    """A door of one's own, as other rooms have them."""

    permission_classes = (SignedIn,)

    def get(self, request: Request) -> Response:
        return Response({"user": request.user.username, "token": getattr(request.auth, "name", "")})

    post = get


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada@example.org", "ada@example.org")


def bearer(secret: str) -> dict[str, str]:
    return {"authorization": f"Bearer {secret}"}


def ask(method: str = "get", **headers: str) -> Any:
    request = getattr(APIRequestFactory(), method)("/mine/", headers=headers)
    return Mine.as_view()(request)


@pytest.mark.parametrize("kind", ["Bearer", "bearer"])
def test_a_token_is_its_user(ada: User, kind: str) -> None:
    _, secret = Token.objects.issue(ada, "ci", Scope.READ)
    answer = ask(authorization=f"{kind} {secret}")
    assert answer.data == {"user": "ada@example.org", "token": "ci"}


def test_a_secret_is_kept_as_a_hash_and_no_two_are_alike(ada: User) -> None:
    pairs = [Token.objects.issue(ada, "ci", Scope.READ) for _ in range(50)]
    assert len({secret for _, secret in pairs}) == 50
    for token, secret in pairs:
        kept = [str(value) for value in Token.objects.filter(pk=token.pk).values_list()[0]]
        assert not any(secret[len(token.prefix) :] in value for value in kept)
        assert secret.startswith(f"{token.prefix}")
        assert len(bytes.fromhex(secret[len(token.prefix) :])) * 8 >= 160


@pytest.mark.parametrize(
    "secret",
    ["", "fs_", "fs_" + "0" * 48, "fs_" + "a" * 10_000, "x" * 10_000, "fs_'; drop", "ÿ" * 51],
)
def test_what_is_no_token_is_a_401_that_says_what_is_asked_for(ada: User, secret: str) -> None:
    answer = Client().get("/api/v1/gpus/", headers=bearer(secret))
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    assert answer.json()["error"]["code"] == "authentication_failed"
    assert secret[3:] == "" or secret not in answer.content.decode()


@pytest.mark.parametrize("header", ["", "fs_0", "Basic YTpi", "Token fs_0", "Bearer", "Bearerfs_0"])
@pytest.mark.parametrize("path", ["/api/v1/gpus/", "/api/v1/me/"])
def test_a_header_that_is_written_otherwise_makes_nobody_anonymous(
    db: None, path: str, header: str
) -> None:
    answer = Client().get(path, headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer["WWW-Authenticate"].startswith("Bearer")
    said = answer.json()["error"]
    assert said["code"] == "authentication_failed"
    if header != "Bearer":  # that is one of no token
        assert "`Authorization: Bearer <token>`" in said["message"]
    assert "RateLimit-Remaining" in answer


def test_a_revoked_token_is_a_401(ada: User) -> None:
    _, secret = Token.objects.issue(ada, "ci", Scope.READ)
    assert ask(**bearer(secret)).status_code == 200
    ada.tokens.all().revoke()
    assert ask(**bearer(secret)).status_code == 401


def test_the_token_of_someone_shut_out_is_a_401(ada: User) -> None:
    _, secret = Token.objects.issue(ada, "ci", Scope.READ)
    User.objects.update(is_active=False)
    assert ask(**bearer(secret)).status_code == 401


def test_a_token_in_the_address_is_not_read(ada: User) -> None:
    _, secret = Token.objects.issue(ada, "ci", Scope.WRITE)
    for name in ("token", "access_token", "authorization"):
        request = APIRequestFactory().get("/mine/", {name: secret})
        assert Mine.as_view()(request).status_code == 401


def test_a_door_of_ones_own_asks_who_it_is() -> None:
    answer = ask()
    assert (answer.status_code, answer["WWW-Authenticate"][:6]) == (401, "Bearer")
    assert b'"code":"not_authenticated"' in answer.content


def test_a_read_token_reads_and_a_write_token_does_both(ada: User) -> None:
    _, reads = Token.objects.issue(ada, "reads", Scope.READ)
    _, writes = Token.objects.issue(ada, "writes", Scope.WRITE)
    assert [ask(way, **bearer(reads)).status_code for way in ("get", "post")] == [200, 403]
    assert [ask(way, **bearer(writes)).status_code for way in ("get", "post")] == [200, 200]


def test_its_use_is_noted_once_a_minute(
    ada: User, django_assert_num_queries: Callable[[int], Any]
) -> None:
    token, secret = Token.objects.issue(ada, "ci", Scope.READ)
    with django_assert_num_queries(2):
        ask(**bearer(secret))
    with django_assert_num_queries(1):
        ask(**bearer(secret))
    token.refresh_from_db()
    assert token.last_used_at is not None
    earlier = timezone.now() - timedelta(minutes=2)
    Token.objects.update(last_used_at=earlier)
    ask(**bearer(secret))
    token.refresh_from_db()
    assert token.last_used_at > earlier


# --- Beside a session ---------------------------------------------------------------------------


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    return client


def test_a_session_must_prove_that_the_form_is_ours(browser: Client) -> None:
    answer = browser.post("/api/v1/estimates/", {}, content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "permission_denied")


def test_a_token_beside_a_session_is_no_way_around_that(ada: User, browser: Client) -> None:
    _, secret = Token.objects.issue(ada, "ci", Scope.WRITE)
    for header, status in ((f"Bearer {secret}", 403), ("Token nonsense", 401), ("Basic YTpi", 401)):
        answer = browser.post(
            "/api/v1/estimates/",
            {},
            content_type="application/json",
            headers={"authorization": header},
        )
        assert answer.status_code == status


def test_a_token_alone_needs_no_csrf(ada: User) -> None:
    _, secret = Token.objects.issue(ada, "ci", Scope.WRITE)
    answer = Client(enforce_csrf_checks=True).post(
        "/api/v1/estimates/", {}, content_type="application/json", headers=bearer(secret)
    )
    assert answer.status_code == 400  # of its empty body
