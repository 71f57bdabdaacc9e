"""The pages of words: complete in both languages, every figure of today, every link alive."""

import re
from collections import Counter
from collections.abc import Iterator
from html import unescape
from urllib.parse import unquote

import pytest
from django.core.management import call_command
from django.db import transaction
from django.http import QueryDict
from django.test import Client
from pytest_django import DjangoDbBlocker

from catalog.filters import parse
from learn import figures, model
from learn.tables import TABLES
from learn.words import GROUPS, questions, rendered, words
from tests.learn.conftest import forget, page

TAG = re.compile(r"\{% *(\w+)((?: +(?:\"[^\"]*\"|[\d.]+))*) *%\}")
HREF = re.compile(r'href="([^"#][^"]*)"')


@pytest.fixture(scope="module")
def bundled(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The bundled catalog, loaded once for this file and gone after it."""
    forget()
    with django_db_blocker.unblock(), transaction.atomic():
        call_command("load_catalog", verbosity=0)
        yield
        transaction.set_rollback(True)
    forget()


def tags(text: str) -> list[tuple[str, str]]:
    """Every tag of a text with its first argument: the words after it differ by language."""
    return [(name, said.strip().split('" "')[0].strip('"')) for name, said in TAG.findall(text)]


# --- The files ----------------------------------------------------------------------------------


@pytest.mark.parametrize("word", words().values(), ids=lambda word: word.slug)
def test_both_languages_say_the_same_figures_sources_and_words(word) -> None:
    assert Counter(tags(word.texts["en"])) == Counter(tags(word.texts["ja"]))
    assert word.group in GROUPS
    assert word.table in {"", *TABLES}
    for said in (word.titles, word.shorts, word.texts, *word.figures):
        assert all(said[language].strip() for language in ("en", "ja"))


@pytest.mark.parametrize("word", words().values(), ids=lambda word: word.slug)
def test_every_source_is_referred_to_and_has_an_address_and_a_date(word) -> None:
    cited = {int(argument) for name, argument in tags(word.texts["en"]) if name == "ref"}
    assert cited == set(range(1, len(word.sources) + 1))
    for source in word.sources:
        assert source.href.startswith("https://")
        assert re.match(r"\d{4}(-\d\d-\d\d)?$", source.when)


def test_a_question_is_answered_first_then_how_sure_why_and_what_next() -> None:
    parts = {"en": ["How sure.", "Why.", "Next."], "ja": ["確かさ：", "理由：", "次の一歩："]}
    for question in questions():
        answers = {language: question["text"][language].strip().split("\n\n") for language in parts}
        for language, (answer, *reasons) in answers.items():
            assert "{% offers" in answer, "the answer has a count of today"
            assert [re.findall("<b>(.*?)</b>", each) for each in reasons] == [
                [part] for part in parts[language]
            ]
        for english, japanese in zip(*answers.values(), strict=True):
            assert Counter(tags(english)) == Counter(tags(japanese))


def test_no_count_of_offers_is_typed_in() -> None:
    texts = [word.texts for word in words().values()] + [q["text"] for q in questions()]
    for text in texts:
        plain = TAG.sub("", text["en"])
        assert not re.search(r"\b\d[\d,]* (of the )?offers\b", plain), plain


# --- The pages ----------------------------------------------------------------------------------


@pytest.mark.django_db
@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_page_answers_and_every_link_of_it_leads_somewhere(
    client: Client, language: str
) -> None:
    known = {}
    for slug in ("", *words()):
        html = page(client, slug, language)
        for href in map(unescape, HREF.findall(html)):
            if href.startswith("/") and not href.startswith(("/static/", "/language/")):
                if href not in known:
                    known[href] = client.get(href).status_code
                assert known[href] in {200, 302}, (slug, href)
        references = set(re.findall(r'href="#([^"]+)"', html)) - {"main"}
        references -= {each for each in references if f'<symbol id="{each}"' in html}
        assert all(f'id="{each}"' in html for each in references), slug


@pytest.mark.django_db
@pytest.mark.usefixtures("bundled")
@pytest.mark.parametrize("word", [w for w in words().values() if w.shows], ids=lambda w: w.slug)
def test_the_filter_of_a_word_has_rows_or_the_page_says_why_not(client: Client, word) -> None:
    counted = client.get(f"/api/v1/offers/?{word.shows}&count=true&page_size=1").json()["count"]
    html = page(client, word.slug)
    if counted:
        assert f"All {counted:,} offers" in html or f"The {counted} offer" in html
    else:
        assert "No offer of the catalog shows it today" in html


@pytest.mark.django_db
@pytest.mark.usefixtures("bundled")
def test_every_count_is_the_count_of_the_list_that_it_leads_to(client: Client) -> None:
    """Of every word and question, in the text, the figures and the tables; both languages."""
    link = re.compile(r'<a href="/\?([^"]*)">([\d,]+)</a>')
    answers: dict[str, dict[str, int]] = {}

    def api(query: str) -> dict[str, int]:
        if query not in answers:
            told = client.get(f"/api/v1/offers/?{query}&count=true&page_size=1").json()
            answers[query] = {name: told[name] for name in ("count", "left_out")}
        return answers[query]

    found: dict[str, list[tuple[str, str]]] = {}
    for language in ("en", "ja"):
        found[language] = [
            (unescape(query), said)
            for slug in ("", *words())
            for query, said in link.findall(page(client, slug, language))
        ]
        for query, said in found[language]:
            known = re.sub(r"&include_unknown=[^&]*", "", query)
            if known == query:
                assert api(query)["count"] == int(said.replace(",", "")), query
            else:  # what an unknown keeps out: the list with it has so many rows more
                assert api(known)["left_out"] == int(said.replace(",", "")), query
                assert api(query)["count"] == api(known)["count"] + api(known)["left_out"], query
    assert Counter(found["en"]) == Counter(found["ja"])
    assert len(answers) > 60


@pytest.mark.django_db
@pytest.mark.usefixtures("bundled")
def test_every_figure_of_a_gpu_is_that_of_the_api(client: Client) -> None:
    gpus = client.get("/api/v1/gpus/?page_size=200").json()["results"]
    known = {gpu["slug"]: gpu["evidence"] for gpu in gpus}
    tagged = re.compile(r'\{% gpu "([^"]+)" "([^"]+)" %\}')
    shown = []
    for word in words().values():
        told = [each for each in word.figures if "gpu" in each]
        made = [each for each in figures.figures(word) if each.unit]
        shown += [
            (*each["gpu"], each.get("times", 1), figure.value)
            for each, figure in zip(told, made, strict=True)
        ]
        for slug, attribute in tagged.findall(word.texts["en"]):
            html = rendered(f'{{% gpu "{slug}" "{attribute}" %}}')
            shown.append((slug, attribute, 1, re.sub("<[^>]+>", "", html)))
    for slug, attribute, times, value in shown:
        assert float(value.replace(",", "")) == times * known[slug][attribute]["value"], slug
    assert len(shown) > 10


@pytest.mark.django_db
@pytest.mark.usefixtures("bundled")
def test_figures_of_the_model_are_those_of_its_own_page(client: Client) -> None:
    answer = model.estimated("llama3-8b-pretrain", 64, model.CLUSTER)
    assert answer
    body = {
        "workload": "llama3-8b-pretrain",
        "gpus": 64,
        "filter": {**QueryDict(model.CLUSTER).dict(), **model.narrow(answer["offer"])},
    }
    told = client.post("/api/v1/estimates/", body, content_type="application/json").json()
    first = told["results"][0]["estimate"]
    assert first["step_time_s"] == pytest.approx(answer["estimate"]["step_time_s"])
    shown = page(client, "exposed-communication")
    assert f"{100 * first['exposed_share']:.1f}</td>" in shown
    assert unescape(model.page_of("llama3-8b-pretrain", 64, answer["offer"])) in unescape(shown)


def test_every_filter_of_the_files_is_one_that_the_list_knows() -> None:
    asked = [word.shows for word in words().values() if word.shows]
    asked += [f["offers"] for word in words().values() for f in word.figures if "offers" in f]
    texts = [word.texts["en"] for word in words().values()]
    texts += [q["text"]["en"] for q in questions()]
    asked += [arg for text in texts for name, arg in tags(text) if name in {"offers", "left_out"}]
    assert len(asked) > 50
    for query in asked:
        parse(QueryDict(unquote(query)))
