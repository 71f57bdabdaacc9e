"""What a browser is shown when something is not as it should: a page in the frame of all others."""

import re

import pytest
from django.test import Client

from config.middleware import POLICY

HTML = {"Accept": "text/html,application/xhtml+xml"}


@pytest.fixture
def web(db, settings):
    """A browser that gets the page of a failure, and style sheets under their plain names."""
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    settings.WHITENOISE_AUTOREFRESH = True
    return Client(raise_request_exception=False, headers=HTML, enforce_csrf_checks=True)


def broken(_query):
    raise RuntimeError("nobody expected this")


@pytest.fixture
def answers(web, settings, monkeypatch):
    """An answer of each status, by its number, in a language."""
    monkeypatch.setattr("catalog.pages.listing.page", broken)

    def throttled(headers):
        settings.API_PER_MINUTE_ANONYMOUS = 2
        for _ in range(2):
            web.get("/api/v1/gpus/", headers=headers)
        return web.get("/api/v1/gpus/", headers=headers)

    ask = {
        400: lambda headers: web.get("/", headers={**headers, "Host": "evil.example"}),
        403: lambda headers: web.post("/account/sign-in/", headers=headers),
        404: lambda headers: web.get("/nowhere/", headers=headers),
        429: throttled,
        500: lambda headers: web.get("/", headers=headers),
    }
    return lambda status, language="en": ask[status]({"Accept-Language": language})


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("status", [400, 403, 404, 429, 500])
def test_an_error_is_a_page_in_the_frame_and_in_its_reader_s_language(answers, status, language):
    answer = answers(status, language)
    html = answer.content.decode()
    assert answer.status_code == status
    assert answer["Content-Security-Policy"] == POLICY
    assert f'<html lang="{language}">' in html
    assert html.count("<h1") == 1
    assert ('<nav aria-label="Main">' if language == "en" else "ワークロード") in html
    assert "<footer>" in html
    main = re.sub(r"<[^>]+>", "", html.split("<main", 1)[1].split("</main>", 1)[0])
    assert bool(re.search(r"[ぁ-ん]", main)) == (language == "ja")


def test_too_often_says_when_to_come_again(answers):
    """In a browser, after a link to the API; a script is told in JSON."""
    answer = answers(429)
    seconds = int(answer["Retry-After"])
    assert re.search(rf"may be asked again in {seconds} seconds?\.", answer.content.decode())
    assert answer["RateLimit-Remaining"] == "0"


def test_a_script_that_comes_too_often_is_told_in_json(answers, web):
    answers(429)
    answer = web.get("/api/v1/gpus/", headers={"Accept": "*/*"})
    assert answer.status_code == 429
    assert answer.json()["error"]["code"] == "throttled"


def test_a_failure_has_an_id_by_which_the_log_can_be_searched(answers, caplog):
    answer = answers(500)
    name = answer["X-Request-ID"]
    assert f"<code>{name}</code>" in answer.content.decode()
    assert f"request {name} failed: GET /" in caplog.text


def test_a_failure_of_the_frame_itself_is_still_answered(answers, monkeypatch):
    monkeypatch.setattr("config.errors.render", broken)
    answer = answers(500)
    assert (answer.status_code, answer["Content-Type"]) == (500, "text/plain")
    assert answer["X-Request-ID"]


def test_what_is_sent_to_a_page_that_is_read_is_refused_with_the_ways_that_are_taken(db, settings):
    settings.STORAGES = {
        **settings.STORAGES,
        "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
    }
    for address in ("/", "/workloads/", "/robots.txt"):
        answer = Client().post(address)
        assert (answer.status_code, answer["Allow"]) == (405, "GET, HEAD"), address
        assert "Nothing can be sent to this address" in answer.content.decode()
