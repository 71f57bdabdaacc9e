"""The validation page shows what is kept, by group and one by one, and says what was never seen."""

import re
from html import unescape

import pytest
from django.test import Client

from catalog import accuracy_page
from scoring import measured_groups

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("language", ["en", "ja"])
def test_every_group_and_every_dot_is_shown(client: Client, language: str) -> None:
    html = client.get("/learn/accuracy/", headers={"accept-language": language}).content.decode()
    said = measured_groups()
    for kind in accuracy_page.KINDS:
        groups = said[kind]["group"]
        for by in accuracy_page.BY:
            mine = [group for group in groups if group["by"] == by]
            if len(mine) > 1:
                assert all(f"{100 * group['median']:.1f}</td>" in html for group in mine)
        assert all(unescape(row["model"]) in unescape(html) for row in said[kind]["worst"])
    dots = sum(len(said[kind]["dot"]) for kind in accuracy_page.KINDS)
    assert len(re.findall(r'r="1.8"', html)) == dots
    assert len(html.encode()) < 150_000


def test_sources_lead_to_their_repository_at_its_commit() -> None:
    assert (
        accuracy_page.source_href("pytorch/torchtitan") == "https://github.com/pytorch/torchtitan"
    )
    at = accuracy_page.source_href("microsoft/vidur@7d47513")
    assert at == "https://github.com/microsoft/vidur/tree/7d47513"
    for kind in accuracy_page.KINDS:
        for group in measured_groups()[kind]["group"]:
            if group["by"] == "source":
                assert accuracy_page.source_href(group["name"]), group["name"]


def test_what_was_never_seen_has_a_figure_of_its_own_and_a_word_of_what_it_means() -> None:
    for kind in accuracy_page.KINDS:
        assert accuracy_page.unseen_means(kind)
        assert any("unseen" in group for group in measured_groups()[kind]["group"])
        for row in measured_groups()[kind]["worst"]:
            for word in row["open"]:
                assert accuracy_page.left_open(word)


def test_a_dot_on_the_line_is_as_high_as_it_is_far_to_the_right() -> None:
    svg = accuracy_page.predicted_against_measured([(1.0, 1.0), (10.0, 10.0), (10.0, 5.0)], "x")
    dots = [tuple(map(float, dot)) for dot in re.findall(r'cx="(\d+)" cy="(\d+)"', svg)]
    low, high, under = dots
    assert high[0] - low[0] == pytest.approx(low[1] - high[1], abs=1)
    assert under[0] == high[0]
    assert under[1] > high[1]
    assert "67 %" in svg
