"""What people read for a source: a host or a repository, then page or file; never a bare slug."""

from typing import Any

import pytest
from django.utils import translation

from catalog.citations import citations, cited
from catalog.facts import DATA, read
from catalog.templatetags.quantities import source_link
from tests.catalog.test_css import SHEET

GITHUB = "https://github.com/acme/notes/blob"


@pytest.mark.parametrize(
    ("written", "name", "href"),
    [
        ("github:acme/notes@1a2b3c:docs/fabric.md", "acme/notes: fabric.md",
         f"{GITHUB}/1a2b3c/docs/fabric.md"),
        ("github:acme/notes:catalogs/v8/aws/vms.csv", "acme/notes: aws/vms.csv",
         f"{GITHUB}/HEAD/catalogs/v8/aws/vms.csv"),
        ("github:acme/notes@1a:data/big.8/nvbandwidth/stdout",
         "acme/notes: big.8/nvbandwidth/stdout", f"{GITHUB}/1a/data/big.8/nvbandwidth/stdout"),
        ("github:acme/notes", "acme/notes", "https://github.com/acme/notes"),
        ("github:acme/notes@1a:plans.yml (a copy)", "acme/notes: plans.yml (a copy)",
         f"{GITHUB}/1a/plans.yml"),
        ("https://github.com/acme/notes/blob/main/README.md", "acme/notes: README.md",
         f"{GITHUB}/main/README.md"),
        ("https://www.acme.example/docs/instance-types/", "acme.example: instance types",
         "https://www.acme.example/docs/instance-types/"),
        ("https://docs.acme.example/ug/efa.html?x=1", "docs.acme.example: efa",
         "https://docs.acme.example/ug/efa.html?x=1"),
        ("https://acme.example/?p=17", "acme.example", "https://acme.example/?p=17"),
        ("https://arxiv.org/abs/2104.04473", "arXiv:2104.04473", "https://arxiv.org/abs/2104.04473"),
        ("an address that was not kept", "an address that was not kept", ""),
    ],
)  # fmt: skip
def test_one_source_has_a_name_and_a_place(written: str, name: str, href: str) -> None:
    assert citations(written) == ((name, href),)


def test_a_rule_is_words_and_what_it_rests_on_is_a_link() -> None:
    written = "rule: total ÷ NICs; https://a.example/nics ; github:acme/notes@1a:fabric.md"
    assert [href for _, href in citations(written)] == [
        "", "https://a.example/nics", f"{GITHUB}/1a/fabric.md",
    ]  # fmt: skip
    assert cited(written)[0] == "rule: total ÷ NICs; a.example: nics; acme/notes: fabric.md"
    with translation.override("ja"):
        assert cited("rule: total ÷ NICs")[0].startswith("規則：")


def test_the_whole_address_is_in_the_link_and_its_title_and_text_is_text() -> None:
    drawn = source_link("https://a.example/x?<b>&y")
    assert drawn.count("https://a.example/x?&lt;b&gt;&amp;y") == 2
    assert source_link("<b>no address</b>") == "&lt;b&gt;no address&lt;/b&gt;"


def test_every_source_of_the_ledger_has_a_name_that_ends_in_one() -> None:
    facts = (fact for name in ("gpus", "instances") for fact in read(DATA / f"{name}.csv"))
    for fact in facts:
        for name, href in citations(fact.source):
            assert name.strip(), fact.source
            assert not name.rstrip().endswith(":"), fact.source
            assert not href or "://" not in name, fact.source


def test_on_paper_a_path_has_its_host(settings: Any) -> None:
    settings.PUBLIC_URL = "https://scout.example"
    drawn = source_link("measurement:1")
    assert 'href="/measurements/1/" data-at="https://scout.example/measurements/1/"' in drawn
    assert "data-at" not in source_link("https://a.example/x")
    assert "a.src[data-at]:not(.pin *)::after{content:" in SHEET
