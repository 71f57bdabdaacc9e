"""The client against a real server on loopback: what it waits for, stops at, refuses and keeps."""

import gzip
import json
import socket
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest
from loopback import Answer, serve

from catalog.addresses import is_public
from catalog.connections import retry_after, stand_ins_from
from scrapers.http import (
    FetchFailed,
    Http,
    TooLarge,
    TryLater,
    lines_of,
)

LIST = "https://provider.example/list"


def test_an_answer_comes_as_it_was_with_the_providers_own_address():
    with serve([Answer(b'{"a": 1}')]) as provider, provider.http() as http:
        document = http.get(f"{LIST}?page=2")
    assert (document.url, document.body) == (f"{LIST}?page=2", b'{"a": 1}')
    assert datetime.now(UTC) - document.fetched_at < timedelta(minutes=1)
    asked = provider.requests[0]
    assert asked.path == "/list?page=2"
    assert asked.headers["User-Agent"].startswith("FabricScout/")


def test_a_post_carries_json():
    with serve([Answer(b"{}")]) as provider, provider.http() as http:
        http.post_json(LIST, {"limit": 5})
    assert (provider.requests[0].method, json.loads(provider.requests[0].body)) == (
        "POST",
        {"limit": 5},
    )


def test_gzip_is_inflated():
    with serve([Answer.zipped(b"[1]" * 1000)]) as provider, provider.http() as http:
        assert http.get(LIST).body == b"[1]" * 1000


# --- Waiting ----------------------------------------------------------------------------------


def test_a_short_wait_is_waited_and_the_answer_had():
    script = [Answer(status=429, headers={"Retry-After": "3"}), Answer(b"[]")]
    with serve(script) as provider, provider.http() as http:
        assert http.get(LIST).body == b"[]"
    assert provider.waits == [3.0]


@pytest.mark.parametrize("status", [429, 503])
def test_a_long_wait_is_the_schedulers_and_capped_at_an_hour(status):
    script = [Answer(status=status, headers={"Retry-After": "86400"})]
    with serve(script) as provider, provider.http() as http:
        with pytest.raises(TryLater) as problem:
            http.get(LIST)
        assert problem.value.after == 3600
    assert (len(provider.requests), provider.waits) == (1, [])


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_storm_of_errors_ends_after_five_tries_with_longer_waits(status):
    with (
        serve([Answer(status=status)]) as provider,
        provider.http() as http,
        pytest.raises(FetchFailed, match=str(status)),
    ):
        http.get(LIST)
    assert len(provider.requests) == 5
    assert len(provider.waits) == 4
    assert sum(provider.waits) < 60


def test_busy_five_times_is_try_later():
    with serve([Answer(status=429)]) as provider, provider.http() as http:
        with pytest.raises(TryLater) as problem:
            http.get(LIST)
        assert problem.value.after >= 60


@pytest.mark.parametrize("status", [204, 400, 401, 403, 404, 410, 418])
def test_other_answers_are_not_tried_again(status):
    with (
        serve([Answer(status=status)]) as provider,
        provider.http() as http,
        pytest.raises(FetchFailed, match=str(status)),
    ):
        http.get(LIST)
    assert len(provider.requests) == 1


NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("asked", "wait"),
    [
        ("120", 120),
        ("0", 1),
        ("99999999999999999999", 3600),
        ("-1", None),
        ("soon", None),
        ("1.5", None),
        ("", None),
        (None, None),
        ("Sun, 29 Nov 2026 12:00:30 GMT", 30),
        ("Sun, 29 Nov 2026 11:00:00 GMT", 1),
        ("Mon, 30 Nov 2026 12:00:00 GMT", 3600),
        ("Mon, 99 Nov 2026 12:00:00 GMT", None),
    ],
)
def test_retry_after_in_every_spelling(asked, wait):
    assert retry_after(asked, NOW) == wait


def test_requests_to_one_host_keep_their_pace():
    waits = []
    with (
        serve([Answer(b"[]")]) as provider,
        Http(stand_ins={LIST: provider.url}, pace=2.0, sleep=waits.append) as http,
    ):
        for _ in range(3):
            http.get(LIST)
    assert [round(wait) for wait in waits] == [2, 4]


# --- Broken, endless and huge bodies ----------------------------------------------------------


def test_a_body_cut_short_is_tried_again():
    whole = b'{"offers": []}'
    with (
        serve([Answer(whole[:5], length=len(whole)), Answer(whole)]) as provider,
        provider.http() as http,
    ):
        assert http.get(LIST).body == whole


@pytest.mark.parametrize(
    "answer",
    [
        Answer(b"[1, 2", length=500),
        Answer(gzip.compress(b"[1]" * 1000)[:-12], headers={"Content-Encoding": "gzip"}),
        Answer(b"no gzip at all", headers={"Content-Encoding": "gzip"}),
        Answer(pieces=[b"zz\r\nbroken"], headers={"Transfer-Encoding": "chunked"}),
    ],
    ids=["length too long", "gzip cut", "no gzip", "bad chunk"],
)
def test_a_body_that_is_always_broken_fails_with_its_reason(answer):
    with (
        serve([answer]) as provider,
        provider.http() as http,
        pytest.raises(FetchFailed, match=r"provider\.example|gzip"),
    ):
        http.get(LIST)
    assert len(provider.requests) == 5


def test_a_length_too_short_gives_what_was_declared():
    with serve([Answer(b"[1, 2, 3]", length=4)]) as provider, provider.http() as http:
        assert http.get(LIST).body == b"[1, "


def test_a_coding_that_was_not_asked_for_is_refused():
    with (
        serve([Answer(b"x", headers={"Content-Encoding": "br"})]) as provider,
        provider.http() as http,
        pytest.raises(FetchFailed, match="coded as br"),
    ):
        http.get(LIST)


def test_a_bomb_is_stopped_at_the_cap():
    bomb = gzip.compress(b"0" * 20_000_000)
    assert len(bomb) < 30_000
    with (
        serve([Answer(bomb, headers={"Content-Encoding": "gzip"})]) as provider,
        provider.http(size=2**20) as http,
        pytest.raises(TooLarge, match="1 MB"),
    ):
        http.get(LIST)
    assert len(provider.requests) == 1


def test_a_plain_body_is_stopped_at_the_cap():
    with (
        serve([Answer(pieces=[b"0" * 2**19] * 8)]) as provider,
        provider.http(size=2**20) as http,
        pytest.raises(TooLarge),
    ):
        http.get(LIST)


def test_a_byte_now_and_then_ends_at_the_deadline():
    slow = Answer(pieces=[b"1"] * 100, pause=0.05)
    started = time.monotonic()
    with (
        serve([slow]) as provider,
        provider.http(deadline=0.4) as http,
        pytest.raises(FetchFailed, match="longer than"),
    ):
        http.get(LIST)
    assert time.monotonic() - started < 3


def test_all_the_pages_of_a_scrape_have_one_budget():
    with (
        serve([Answer(b"[]")]) as provider,
        provider.http(budget=0.0) as http,
        pytest.raises(FetchFailed, match="all its pages"),
    ):
        http.get(LIST)


def test_headers_that_trickle_end_at_the_deadline():
    """No server of ours: a socket that sends its head letter by letter."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=_trickle, args=(listening,), daemon=True)
        thread.start()
        port = listening.getsockname()[1]
        stand_in = {LIST: f"http://127.0.0.1:{port}"}
        with (
            Http(stand_ins=stand_in, pace=0.0, deadline=0.4) as http,
            pytest.raises(FetchFailed, match=r"longer than|times"),
        ):
            http.get(LIST)


def _trickle(listening: socket.socket) -> None:
    peer, _ = listening.accept()
    with peer:
        try:
            for letter in b"HTTP/1.1 200 OK\r\nX-Slow: " + b"x" * 60:
                peer.sendall(bytes([letter]))
                time.sleep(0.05)
        except OSError:
            return


# --- Where it goes ----------------------------------------------------------------------------


def _to(target: str, status: int = 302) -> Answer:
    return Answer(status=status, headers={"Location": target})


def test_a_redirect_is_followed_on_its_own_host():
    with serve([_to("/other"), Answer(b"[]")]) as provider, provider.http() as http:
        assert http.get(LIST, {"Authorization": "Bearer x"}).body == b"[]"
    assert provider.requests[1].path == "/other"
    assert provider.requests[1].headers["Authorization"] == "Bearer x"


def test_another_host_never_gets_the_authorization():
    origins = ("https://provider.example", "https://mirror.example")
    with (
        serve([_to("https://mirror.example/x"), Answer(b"[]")]) as provider,
        provider.http(*origins) as http,
    ):
        http.get(LIST, {"Authorization": "Bearer x", "X-API-Key": "y"})
    assert not {"Authorization", "X-Api-Key", "X-API-Key"} & provider.requests[1].headers.keys()


@pytest.mark.parametrize(
    "target",
    [
        "http://127.0.0.1:1/",
        "https://127.0.0.1:1/",
        "https://169.254.169.254/latest/meta-data",
        "https://localhost/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://10.0.0.1/",
        "http://provider.example/list",
        "file:///etc/passwd",
        "gopher://provider.example/",
        "https://user:pass@provider.example/",
    ],
)
def test_redirects_inward_or_to_another_scheme_are_refused(target):
    with serve([_to(target)]) as provider, provider.http() as http, pytest.raises(FetchFailed):
        http.get(LIST)
    assert len(provider.requests) == 1


def test_redirects_to_another_port_of_a_stand_in_are_refused():
    with serve([Answer(b"secret")]) as inside, serve([_to(inside.url)]) as provider:
        with provider.http() as http, pytest.raises(FetchFailed):
            http.get(LIST)
        assert inside.requests == []


def test_at_most_five_hops():
    with (
        serve([_to("/again")]) as provider,
        provider.http() as http,
        pytest.raises(FetchFailed, match="more than 5"),
    ):
        http.get(LIST)
    assert len(provider.requests) == 6


def test_a_post_is_not_turned_into_a_get():
    with (
        serve([_to("/other")]) as provider,
        provider.http() as http,
        pytest.raises(FetchFailed, match="redirects a POST"),
    ):
        http.post_json(LIST, {})


def test_names_are_judged_by_every_address_at_the_time_of_connecting(monkeypatch):
    def answers(*addresses):
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, 443)) for a in addresses]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_a, **_k: found)

    opened = []
    monkeypatch.setattr(
        "httpcore.SyncBackend.connect_tcp",
        lambda _self, host, *_a, **_k: opened.append(host) or (_ for _ in ()).throw(OSError("x")),
    )
    with Http(pace=0.0, sleep=lambda _s: None) as http:
        answers("93.184.215.14", "127.0.0.1")
        with pytest.raises(FetchFailed, match="not public"):
            http.get(LIST)
        assert opened == []
        answers("93.184.215.14")
        with pytest.raises(FetchFailed, match="OSError"):
            http.get(LIST)
        assert set(opened) == {"93.184.215.14"}


def test_proxies_of_the_environment_are_not_used(monkeypatch):
    with serve([Answer(b"proxied")]) as proxy, serve([Answer(b"direct")]) as provider:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        with provider.http() as http:
            assert http.get(LIST).body == b"direct"
        assert proxy.requests == []


@pytest.mark.parametrize("url", ["http://provider.test/", "ftp://x/", "file:///etc/passwd", "x"])
def test_only_https_is_asked(url):
    with Http(pace=0.0) as http, pytest.raises(FetchFailed):
        http.get(url)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0", "10.1.2.3",  # noqa: S104 -- judged, not bound to
        "100.64.0.1", "127.0.0.1", "169.254.169.254", "172.31.0.1",
        "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "203.0.113.9",
        "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1", "::127.0.0.1",
        "::ffff:0:127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2001::1", "2001:db8::1",
        "2002:7f00:1::", "3fff::1", "fc00::1", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1",
        "example.com", "",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "93.184.215.14", "2606:4700::1111"])
def test_addresses_that_are(address):
    assert is_public(address)


def test_stand_ins_come_from_one_variable():
    said = {"FABRICSCOUT_STAND_INS": "https://a.example=http://127.0.0.1:1, https://b=http://c"}
    assert stand_ins_from(said) == {
        "https://a.example": "http://127.0.0.1:1",
        "https://b": "http://c",
    }
    assert stand_ins_from({}) == {}


# --- A long answer, kept in part --------------------------------------------------------------


def test_only_what_is_kept_of_a_long_answer_is_held():
    pieces = [b"a,1\nb", b",2\na,3\r\n", b"a,4"]
    keep = lambda body: b"".join(line for line in lines_of(body) if line.startswith(b"a"))  # noqa: E731
    with serve([Answer(pieces=pieces)]) as provider:
        document = provider.http().get("https://provider.example/list", keep=keep)
    assert document.body == b"a,1\na,3\r\na,4"


def test_a_long_answer_is_bounded_all_the_same():
    with serve([Answer(body=b"x\n" * 3 * 2**20)]) as provider:
        http = provider.http(size=2**20)
        with pytest.raises(TooLarge):
            http.get("https://provider.example/list", keep=lambda body: b"".join(list(body)[:0]))


def test_a_line_without_end_is_refused():
    with pytest.raises(TooLarge, match="a line"):
        list(lines_of([b"x" * 2**16, b"x"]))


def test_a_name_that_nobody_knows_is_told_in_a_sentence(monkeypatch):
    def unknown(*_args, **_named):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(FetchFailed) as problem, Http(pace=0.0, sleep=lambda _s: None) as http:
        http.get("https://prices.example/")
    assert str(problem.value) == ("prices.example: the host's name could not be looked up, 5 times")
