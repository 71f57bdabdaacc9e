"""Sentences of the cost model, the ledger and the readers of queries, in the reader's language."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.test import Client
from django.utils import translation

from catalog import bundled, fabric_query, filters, instances, phrases, query, wording
from catalog import rules as the_rules
from catalog.facts import gpus
from catalog.phrases import PHRASES, RULE, said
from scoring import jobs
from scoring.estimate import LIMITS
from scoring.workload import job_fields

JAPANESE = re.compile(r"[ぁ-ゖァ-ヺ一-鿿：]")
ADDRESS = re.compile(r"[;(] ?(https?:|github:|arXiv:).*$", re.DOTALL)


def japanese(text: str) -> str:
    with translation.override("ja"):
        return said(text)


def rules() -> set[str]:
    """Every rule that a fact of the bundled catalog or of a GPU names, without its ground."""
    said_of_types = (fact for facts in bundled.read().facts.values() for fact in facts)
    said_of_gpus = (fact for facts in gpus().values() for fact in facts.values())
    sources = {fact.source for fact in (*said_of_types, *said_of_gpus)}
    named = {source for source in sources if source.startswith("rule: ")}
    return {ADDRESS.sub("", rule).strip() for rule in named}


def notes_of_the_commonest(most: int) -> set[str]:
    """Each note on the types that most offers of the bundled catalog are of."""
    data = bundled.read()
    offered = Counter(f"{each.provider}/{each.instance_type}" for each in data.offers)
    common = {subject for subject, _n in offered.most_common(most)}
    facts = (fact for each in data.facts.values() for fact in each)
    return {fact.note for fact in facts if fact.note and str(fact.subject) in common}


def test_every_note_on_the_commonest_types_is_said_in_japanese() -> None:
    notes = notes_of_the_commonest(100)
    assert len(notes) > 150
    parts = {part for note in notes for part in note.split("; ") if " " in part}  # one is a name
    assert [part for part in parts if not JAPANESE.search(japanese(part))] == []


def text_of(node: ast.expr) -> Iterator[str]:
    """A text as it stands in the code, an f-string with its holes filled."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        yield "".join(
            str(part.value)
            if isinstance(part, ast.Constant)
            else ("'x'" if getattr(part, "conversion", -1) == ord("r") else "7")
            for part in node.values
        )


def raised(source: str) -> Iterator[str]:
    """What the ValueErrors of a module say."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "ValueError":
            for argument in node.args:
                yield from text_of(argument)


def test_every_rule_of_the_catalog_is_said_in_japanese() -> None:
    assert len(rules()) > 30
    assert [
        rule for rule in rules() if not JAPANESE.search(japanese(rule).partition("：")[2])
    ] == []


def test_every_rule_of_the_ledger_is_said_in_japanese() -> None:
    """Its rules are the texts that are named `rule`, or are given to `derived` as the last."""
    named = set[str]()
    for node in ast.walk(ast.parse(Path(the_rules.__file__).read_text())):
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "rule":
            named |= set(text_of(node.value))
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "derived":
            named |= set(text_of(node.args[3]))
    assert len(named) > 20
    unsaid = [
        rule for rule in named if not JAPANESE.search(japanese(f"rule: {rule}").partition("：")[2])
    ]
    assert unsaid == []


def test_every_word_of_what_a_parameter_must_be_is_said_in_japanese() -> None:
    told = list(raised(Path(query.__file__).read_text()))
    assert len(told) > 8
    assert [text for text in told if not JAPANESE.search(japanese(text))] == []


def test_every_workload_every_limit_and_every_question_is_said_in_japanese() -> None:
    titles = [str(job_fields(slug)["title"]) for slug in jobs()]
    assert [t for t in (*titles, *LIMITS.values()) if not JAPANESE.search(japanese(t))] == []
    with translation.override("ja"):
        for question in instances.CHECKLIST:
            assert JAPANESE.search(translation.gettext(question.title)), question.title
            assert JAPANESE.search(translation.gettext(question.ask)), question.ask


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_found_by_the_sentence_that_it_makes(phrase: str) -> None:
    made = re.sub(r"%\(\w+\)s", "7", phrase)
    assert said(made) == made  # English stays as it is
    assert JAPANESE.search(japanese(made)), made
    assert "%(" not in japanese(made)


def test_parts_of_a_sentence_are_said_and_their_figures_kept() -> None:
    told = japanese(
        "optimizer state 13 GB + weights 2 GB = 24 GB per GPU exceeds the 16 GB of t4-pcie-16gb "
        "(the least, with tp 64, recompute full)"
    )
    for kept in (
        "オプティマイザー状態 13 GB",
        "重み 2 GB",
        "24 GB",
        "16 GB",
        "T4",
        "tp 64",
    ):
        assert kept in told
    two = japanese("the fp64 rate of l4-pcie-24gb is not known; its price is not published")
    assert two == "L4 の fp64 性能が不明；価格は非公開"


@pytest.mark.parametrize(
    ("told", "read"),
    [
        ("fabric is unknown: assumed gpudirect_tcpx", "fabric is unknown: assumed GPUDirect-TCPX"),
        ("how the GPUs are joined is unknown: assumed pcie, as h100-pcie-80gb is usually built",
         "how the GPUs are joined is unknown: assumed PCIe only, as H100 PCIe is usually built"),
        ("12 + 4 = 24 GB per GPU exceeds the 16 GB of t4-pcie-16gb (the least, with tp 8)",
         "12 + 4 = 24 GB per GPU exceeds the 16 GB of T4 (the least, with tp 8)"),
        ("must be one of: nvswitch, pcie", "must be one of: nvswitch, pcie"),  # as it is written
    ],
)  # fmt: skip
def test_in_english_too_a_slug_is_said_as_people_write_it(told: str, read: str) -> None:
    assert said(told) == read


def test_what_nobody_phrased_stays_as_it_stands() -> None:
    assert japanese("one strange, unheard-of thing") == "one strange, unheard-of thing"
    assert RULE.fullmatch("rule: arithmetic (https://x.example/a)")
    assert japanese("rule: arithmetic (https://x.example/a)") == "規則：計算 (https://x.example/a)"
    assert phrases.said("") == ""


@pytest.mark.django_db
def test_a_page_says_what_was_wrong_in_japanese_and_the_api_in_english(client: Client) -> None:
    address = "?usd_per_gpu_hour_max=cheap&bogus=1"
    page = client.get(f"/{address}", headers={"accept-language": "ja"})
    assert page.status_code == 400
    assert "整数部は 9 桁まで" in page.content.decode()
    assert "パラメーターではありません" in page.content.decode()
    told = client.get(f"/api/v1/offers/{address}", headers={"accept-language": "ja"})
    assert "must be a number" in told.content.decode()


@pytest.mark.parametrize("name", sorted({*filters.UNKNOWABLE, *fabric_query.UNKNOWABLE}))
def test_what_is_unknown_of_a_row_has_words_for_every_filter(name: str) -> None:
    bare = name.removesuffix("_min").removesuffix("_max")
    assert bare in wording.UNKNOWN_OF
    with translation.override("ja"):
        assert "_" not in wording.unknown_of(name)


def test_why_a_source_could_not_be_read_is_said_whoever_was_asked() -> None:
    failure = "prices.example: the host's name could not be looked up"
    assert japanese(failure) == "prices.example：ホスト名を解決できませんでした"
    assert japanese(f"{failure}, 5 times") == f"{japanese(failure)}（5 回）"
    assert japanese("prices.example answers 503, 3 times") == "prices.example の応答は 503（3 回）"
