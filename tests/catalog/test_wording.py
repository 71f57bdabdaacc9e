"""Words, in the language of whoever reads."""

import pytest
from django.http import HttpResponse
from django.utils import translation

from catalog import wording


@wording.in_one_language
def page(*, fails: bool = False) -> HttpResponse:
    """A view that has three words to say."""
    if fails:
        raise ValueError("no page")
    words = (wording.gettext("Offers"), wording.word("fabric", "none"), wording.language())
    return HttpResponse(" ".join(map(str, words)))


def test_a_page_is_in_the_language_of_its_reader_and_the_next_in_that_of_its_own() -> None:
    with translation.override("ja"):
        japanese = page().content.decode()
        with pytest.raises(ValueError, match="no page"):
            page(fails=True)
    assert japanese.endswith(" ja")
    assert "Offers" not in japanese
    assert page().content.decode() == "Offers none en"
    assert wording.gettext("Offers") == "Offers"


def test_the_language_is_asked_for_once_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(translation, "get_language", lambda: asked.append(1) or "en")
    page()
    assert len(asked) == 1
