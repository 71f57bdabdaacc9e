"""The frame of every page: what is written once for all who read it."""

from django.template import Context, Template
from django.utils import translation

PIECE = Template(
    "{% load frame i18n %}{% once room %}{% translate 'Offers' %} {{ room }} {{ n }}{% endonce %}"
)


def test_what_is_the_same_for_all_is_written_once_a_language_and_value() -> None:
    def said(language: str, room: str, n: int) -> str:
        with translation.override(language):
            return PIECE.render(Context({"room": room, "n": n}))

    assert said("en", "<a>", 1) == "Offers &lt;a&gt; 1"
    assert said("en", "<a>", 2) == "Offers &lt;a&gt; 1"
    assert said("en", "b", 3) == "Offers b 3"
    japanese = said("ja", "<a>", 4)
    assert japanese.endswith("&lt;a&gt; 4")
    assert "Offers" not in japanese
    assert said("en", "<a>", 5) == "Offers &lt;a&gt; 1"
