"""A stranger's page is read by its classes, and nothing in it can hurt."""

import pytest

from scrapers.listing import Unreadable
from scrapers.pages import read_page


def text(body: str) -> str:
    return read_page(body.encode()).text()


def test_text_is_single_spaced_and_scripts_are_silent():
    assert text("<p>a <b>b</b>c<br>d</p><script>x < 1</script><style>p</style>") == "a bc d"


def test_a_superscript_is_marked_and_entities_are_read():
    assert text("<div>4<sup>1</sup> &amp; &#36;2</div>") == "4^1 & $2"


def test_elements_are_found_by_class_and_tag_and_not_inside_each_other():
    page = read_page(b'<div class="a b">1<div class="a">2</div></div><p class="a">3</p>')
    assert [e.text() for e in page.all(".a")] == ["1 2", "3"]
    assert [e.text() for e in page.all("p")] == ["3"]


def test_end_tags_that_are_missing_or_too_many_close_what_they_can():
    page = read_page(b'<ul><li class="x">1<li class="x">2</ul></div><p>3</p>')
    assert page.all("p")[0].text() == "3"
    assert [e.text() for e in page.all(".x")] == ["1 2"]


@pytest.mark.parametrize("body", [b"", b"{}", b"\xff\xfe<", b"<div>" * 1000])
def test_what_is_no_page_is_unreadable(body):
    with pytest.raises(Unreadable):
        read_page(body)
