"""Tags of the texts in words/: figures of today, links between words, references to sources."""

from html import escape

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from catalog.citations import cited
from catalog.templatetags.quantities import number, unknown
from learn import figures
from learn.words import words

register = template.Library()


@register.simple_tag
def offers(query: str) -> SafeString:
    """How many offers a query lists today, as a link to them."""
    return _link(f"/?{query}", number(figures.counted(query).rows))


@register.simple_tag
def left_out(query: str) -> SafeString:
    """How many more an unknown keeps out, as a link to the list that includes them."""
    counts = figures.counted(query)
    if not counts.left_out:
        return SafeString("0")
    names = ",".join(name for name, n in counts.left_out_by.items() if n)
    return _link(f"/?{query}&include_unknown={names}", number(counts.left_out))


@register.simple_tag
def gpu(slug: str, attribute: str, times: float = 1) -> SafeString:
    """A fact of a GPU, as a link to its source."""
    known = figures.fact(slug, attribute)
    if known is None:
        return unknown()
    name, href = cited(known["source"])
    value = number(known["value"] * times)
    return _link(href, value, name) if href else SafeString(escape(value))


@register.simple_tag
def see(slug: str, text: str = "") -> SafeString:
    """A link to another word."""
    return _link(reverse("word", args=[slug]), text or words()[slug].title)


@register.simple_tag
def ref(index: int) -> SafeString:
    """A reference to one of the sources at the end of the page."""
    return mark_safe(f'<a href="#source-{int(index)}">[{int(index)}]</a>')  # noqa: S308 -- a number


def _link(href: str, text: str, title: str = "") -> SafeString:
    said = f' title="{escape(title)}"' if title else ""
    return mark_safe(f'<a href="{escape(href)}"{said}>{escape(text)}</a>')  # noqa: S308 -- escaped
