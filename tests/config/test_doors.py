"""How often one may knock at the API, without Redis too, and who may read from another site."""

import socket
import threading
import time
from uuid import uuid4

import pytest
import redis
from django.contrib.auth.models import User
from django.db import OperationalError
from django.http import HttpResponse

from accounts import limits
from accounts.models import Scope, Token
from config import doors

GPUS = "/api/v1/gpus/?page_size=1"
DEFAULTS = {"API_PER_MINUTE_ANONYMOUS": 60, "API_PER_MINUTE_TOKEN": 600}


@pytest.fixture(autouse=True)
def _counted_from_none(monkeypatch):
    """Redis as it is after a start, and no count of another test, run beside this one or before."""
    monkeypatch.setattr(limits, "PREFIX", f"limit-{uuid4()}")
    limits._here.windows.clear()
    monkeypatch.setattr(limits, "_breaker", limits._Breaker())


@pytest.fixture
def knock(client, settings):
    """A request under the limits that the service has by default."""
    for name, value in DEFAULTS.items():
        setattr(settings, name, value)

    def ask(address=GPUS, *, of="192.0.2.1", token=None, **headers):
        shown = {"Authorization": f"Bearer {token}"} if token else {}
        return client.get(address, headers=shown | headers, REMOTE_ADDR=of)

    return ask


@pytest.fixture
def token(db):
    user = User.objects.create_user("buyer@example.com")
    return Token.objects.issue(user, "nightly", Scope.READ)[1]


@pytest.fixture
def _no_redis(monkeypatch):
    """It refuses, at once."""

    def refuse(*_args, **_kwargs):
        raise redis.ConnectionError("refused")

    monkeypatch.setattr(redis.Redis, "execute_command", refuse)


def test_the_defaults_are_those_that_the_readme_promises(settings, monkeypatch):
    monkeypatch.delenv("API_PER_MINUTE_ANONYMOUS")
    monkeypatch.delenv("API_PER_MINUTE_TOKEN")
    import importlib

    import config.settings

    fresh = importlib.reload(config.settings)
    assert {name: getattr(fresh, name) for name in DEFAULTS} == DEFAULTS


@pytest.mark.django_db
def test_an_address_has_sixty_requests_a_minute_and_is_told_how_many_are_left(
    knock, django_assert_num_queries
):
    for used in range(1, 61):
        answer = knock()
        assert answer.status_code == 200
        assert (answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == ("60", str(60 - used))
        assert 1 <= int(answer["RateLimit-Reset"]) <= 60
    with django_assert_num_queries(0):
        refused = knock()
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "throttled"
    assert refused["Retry-After"] == refused["RateLimit-Reset"]
    assert refused["RateLimit-Remaining"] == "0"
    assert knock(of="192.0.2.2").status_code == 200


@pytest.mark.django_db
def test_a_token_has_ten_times_as_many_of_its_own(knock, token):
    for _ in range(61):
        answer = knock(token=token)
    assert answer.status_code == 200
    assert (answer["RateLimit-Limit"], answer["RateLimit-Remaining"]) == ("600", "539")
    assert knock()["RateLimit-Remaining"] == "59"  # the address has used none of its own
    limits.take(limits.Limit("token", 600), str(Token.objects.get().pk), times=600)
    refused = knock(token=token)
    assert (refused.status_code, refused.json()["error"]["code"]) == (429, "throttled")
    assert 1 <= int(refused["Retry-After"]) <= 60


@pytest.mark.django_db
@pytest.mark.parametrize("address", [GPUS, "/api/v1/nowhere/", "/api/v1/schema/"])
def test_a_token_of_nobody_counts_for_its_address(knock, address):
    for n in range(60):
        knock(address, token=f"fs_{n:048}")
    assert knock(address, token="fs_other").status_code == 429
    assert knock().status_code == 429


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("gpus/?colour=red", 400),
        ("nowhere/", 404),
        ("gpus/", 304),
        ("docs/", 200),
        ("schema/", 200),
    ],
)
def test_every_answer_says_what_is_left(knock, address, status):
    known = knock("/api/v1/gpus/").get("ETag", "")
    answer = knock(f"/api/v1/{address}", **{"If-None-Match": known})
    assert answer.status_code == status
    assert answer["RateLimit-Remaining"] == "58"
    assert "Retry-After" not in answer


@pytest.mark.django_db
def test_pages_are_not_counted(knock):
    assert "RateLimit-Limit" not in knock("/healthz")


@pytest.mark.django_db
def test_a_forged_address_dodges_nothing(knock, settings):
    forged = [{"X-Forwarded-For": f"203.0.113.{n}"} for n in range(61)]
    assert [knock(**headers).status_code for headers in forged] == [200] * 60 + [429]
    settings.TRUST_PROXY = True  # then its last word is the proxy's own
    forged = [{"X-Forwarded-For": f"203.0.113.{n}, 198.51.100.7"} for n in range(61)]
    assert [knock(**headers).status_code for headers in forged] == [200] * 60 + [429]
    assert knock(**{"X-Forwarded-For": "198.51.100.8"}).status_code == 200


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),  # one customer's network
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
    ],
)
def test_whoever_has_one_address_of_a_network_has_all(rf, one, other, same):
    first, second = (limits.address_of(rf.get("/", REMOTE_ADDR=each)) for each in (one, other))
    assert (first == second) is same


@pytest.mark.django_db
@pytest.mark.usefixtures("_no_redis")
def test_without_redis_the_limit_holds_in_this_process(knock):
    assert [knock().status_code for _ in range(61)] == [200] * 60 + [429]
    assert knock(of="192.0.2.2").status_code == 200


def test_a_redis_that_failed_is_left_alone_until_it_answers_aside(monkeypatch, caplog):
    asked = []
    answers = redis.Redis.execute_command

    def freeze(*_args, **_kwargs):
        asked.append(threading.current_thread())
        raise redis.TimeoutError

    monkeypatch.setattr(limits, "SKIPPED_S", 0.05)
    monkeypatch.setattr(redis.Redis, "execute_command", freeze)
    limit = limits.Limit("test", 5)
    for _ in range(10):
        standing = limits.take(limit, "me")
        time.sleep(0.02)
    assert standing.used == 10
    assert asked.count(threading.current_thread()) == 1
    assert len(caplog.records) == 1
    monkeypatch.setattr(redis.Redis, "execute_command", answers)
    until = time.monotonic() + 5
    while limits._breaker.is_open and time.monotonic() < until:
        time.sleep(0.02)
    assert limits.take(limit, "me").used == 1  # counted by Redis again


def test_a_frozen_redis_costs_a_quarter_of_a_second_once(tmp_path, monkeypatch):
    """It takes the connection and never answers, as a stopped process does."""
    with socket.socket(socket.AF_UNIX) as frozen:
        frozen.bind(str(tmp_path / "redis"))
        frozen.listen(8)
        client = limits.client_of(f"unix://{tmp_path}/redis")
        monkeypatch.setattr(limits, "_client", lambda: client)
        began = time.monotonic()
        limits.take(limits.Limit("test", 5), "me")
        found_out = time.monotonic() - began
        for _ in range(50):
            limits.take(limits.Limit("test", 5), "me")
        rest = time.monotonic() - began - found_out
    assert limits.PATIENCE_S <= found_out < 2 * limits.PATIENCE_S + 0.2
    assert rest < limits.PATIENCE_S


def test_a_window_ends_and_begins_anew(monkeypatch):
    here, clock = limits._Here(), 1000.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    assert [here.take("me", 1, 60) for _ in range(3)][-1] == (3, 60)
    clock += 59
    assert here.take("me", 1, 60) == (4, 1)
    clock += 1
    assert here.take("me", 1, 60) == (1, 60)


def test_the_counts_of_a_process_are_bounded():
    here = limits._Here()
    for n in range(limits.KEPT_HERE + 5):
        here.take(str(n), 1, 60)
    assert len(here.windows) == limits.KEPT_HERE


def test_redis_keeps_no_count_for_good():
    limits.take(limits.Limit("test", 5), "me")
    (key,) = limits._client().keys(f"{limits.PREFIX}:*")
    assert 0 < limits._client().pttl(key) <= 60_000


def test_a_count_is_looked_at_without_counting_and_forgiven():
    limit = limits.Limit("login", 3)
    for _ in range(4):
        limits.take(limit, "me")
    assert limits.take(limit, "me", times=0).used == 4
    limits.forget(limit, "me")
    assert not limits.take(limit, "me").is_over


@pytest.mark.django_db
def test_any_site_may_read_and_none_may_write(client):
    answer = client.get("/api/v1/gpus/", headers={"Origin": "https://elsewhere.example"})
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert "Access-Control-Allow-Credentials" not in answer
    assert {"ETag", "RateLimit-Remaining", "Link"} <= set(
        answer["Access-Control-Expose-Headers"].split(", ")
    )
    wrong = client.get("/api/v1/gpus/?colour=red", headers={"Origin": "https://elsewhere.example"})
    assert wrong["Access-Control-Allow-Origin"] == "*"  # its error can be read, too
    for method, status in {"GET": 204, "POST": 403, "DELETE": 403}.items():
        asked = client.options(
            "/api/v1/estimates/",
            headers={"Origin": "https://e.example", "Access-Control-Request-Method": method},
        )
        assert asked.status_code == status
        assert ("Access-Control-Allow-Origin" in asked) is (method == "GET")
    posted = client.post("/api/v1/estimates/", "{", content_type="application/json")
    assert "Access-Control-Allow-Origin" not in posted
    assert "Access-Control-Allow-Origin" not in client.get("/healthz")


ESTIMATES, WRITES = "/api/v1/estimates/", "/api/v1/comparisons/"
EVE, ADA, BOB, DAN = (f"192.0.2.{n}" for n in range(1, 5))


@pytest.fixture
def under_way():
    """A door, and how to have requests under way behind it until the test ends."""
    entered, go_on, threads = threading.Semaphore(0), threading.Event(), []

    def slow(request):
        if request.headers.get("Slow"):
            entered.release()
            go_on.wait(10)
        return HttpResponse()

    door = doors.few_at_once(slow)

    def begin(request):
        request.META["HTTP_SLOW"] = "1"
        threads.append(threading.Thread(target=door, args=[request]))
        threads[-1].start()
        assert entered.acquire(timeout=5)

    yield door, begin
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert not doors.ESTIMATES.taken
    assert not doors.WRITES.taken


def test_two_that_estimate_are_under_way_and_the_third_comes_again_while_the_rest_goes_on(
    rf, under_way
):
    door, begin = under_way
    begin(rf.post(ESTIMATES, REMOTE_ADDR=EVE))
    begin(rf.post(f"/comparisons/{uuid4()}/run/", REMOTE_ADDR=ADA))
    refused = door(rf.post(ESTIMATES, REMOTE_ADDR=EVE))
    assert (refused.status_code, refused["Retry-After"]) == (429, "1")
    ordered = ("/measurements/", "/api/v1/measurements/", "/measurements/keep/")
    for each in (ESTIMATES, f"{WRITES}{uuid4()}/run/", "/comparisons/new/", *ordered):
        other = door(rf.post(each, REMOTE_ADDR=BOB))
        assert (other.status_code, other["Retry-After"]) == (503, "2"), each
    for each in ("/compare/?pick=a/b", "/workloads/llama/"):
        page = door(rf.get(each, REMOTE_ADDR=BOB))
        assert (page.status_code, page["Refresh"]) == (503, "2"), each
    for each in ("/api/v1/gpus/", "/comparisons/", "/workloads/"):
        assert door(rf.get(each)).status_code == 200, each
    for each in (WRITES, "/account/sign-in/", f"/comparisons/{uuid4()}/edit/"):
        assert door(rf.post(each)).status_code == 200, each


def test_one_caller_never_has_all_the_places(rf, under_way):
    door, begin = under_way
    begin(rf.post(ESTIMATES, REMOTE_ADDR=EVE))
    assert door(rf.get("/workloads/llama/", REMOTE_ADDR=EVE)).status_code == 503
    assert door(rf.post(ESTIMATES, REMOTE_ADDR=ADA)).status_code == 200
    for _ in range(2):
        begin(rf.post(WRITES, REMOTE_ADDR=EVE))
    assert door(rf.post(WRITES, REMOTE_ADDR=EVE)).status_code == 429
    begin(rf.post(WRITES, REMOTE_ADDR=ADA))
    assert door(rf.post(WRITES, REMOTE_ADDR=DAN)).status_code == 503


@pytest.mark.django_db
def test_a_token_that_nobody_looked_at_is_counted_for_nobody(knock, token, client, monkeypatch):
    for _ in range(61):
        knock()
    body = {"data": b"x" * 1_100_000, "content_type": "application/json"}
    shown = {"headers": {"Authorization": f"Bearer {token}"}, "REMOTE_ADDR": "192.0.2.1"}
    large = client.post(ESTIMATES, **body, **shown)
    assert (large.status_code, "RateLimit-Limit" in large) == (413, False)
    with doors.ESTIMATES.one("a"), doors.ESTIMATES.one("b"):
        assert client.post(ESTIMATES, **shown).status_code == 503

    def away(*_args):
        raise OperationalError

    monkeypatch.setattr(Token.objects, "of", away)
    assert knock(token=token).status_code == 503
    assert limits.take(limits.Limit("anonymous", 60), "192.0.2.1", times=0).used == 61


@pytest.mark.django_db
def test_a_tag_is_of_one_language_and_what_someone_was_told_is_kept_for_nobody_else(client, token):
    said = {of: client.get(GPUS, headers={"Accept-Language": of}) for of in ("en", "ja")}
    assert said["en"]["ETag"] != said["ja"]["ETag"]
    known = {"Accept-Language": "ja", "If-None-Match": said["en"]["ETag"]}
    assert client.get(GPUS, headers=known).status_code == 200
    varies = {each.strip() for each in said["en"]["Vary"].split(",")}
    assert {"Accept-Language", "Authorization", "Cookie"} <= varies
    assert said["en"]["Cache-Control"] == "public, no-cache"
    mine = client.get(GPUS, headers={"Authorization": f"Bearer {token}"})
    assert mine["Cache-Control"] == "private, no-cache"
