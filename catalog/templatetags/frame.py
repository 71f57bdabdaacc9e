"""The frame of every page: of which catalog it is, and what is the same on all of them."""

from functools import lru_cache

from django import template
from django.db import models
from django.template import Context
from django.template.base import FilterExpression, NodeList, Parser, Token
from django.utils.safestring import SafeString

from catalog.models import CatalogVersion, Offer
from catalog.templatetags.quantities import number, safe
from catalog.wording import gettext, language, ngettext

register = template.Library()
MOST_KEPT = 64  # of one place


class Once(template.Node):
    """Words, links and headings that are the same for every reader of a language."""

    def __init__(self, nodelist: NodeList, things: list[FilterExpression]) -> None:
        self.nodelist, self.things = nodelist, things
        self.kept: dict[tuple[object, ...], SafeString] = {}

    def render(self, context: Context) -> SafeString:
        """What was written the first time."""
        things = (thing.resolve(context, ignore_failures=True) for thing in self.things)
        key = (language(), *things)
        if (said := self.kept.get(key)) is None:
            if len(self.kept) >= MOST_KEPT:
                self.kept.clear()
            said = self.kept[key] = self.nodelist.render(context)
        return said


@register.tag
def once(parser: Parser, token: Token) -> Once:
    """`{% once money room %}…{% endonce %}`: written once in a language for each of such values.

    It may look at nothing else: what is of one reader or one question stands outside.
    """
    nodelist = parser.parse(("endonce",))
    parser.delete_first_token()
    return Once(nodelist, [parser.compile_filter(each) for each in token.split_contents()[1:]])


@register.simple_tag(takes_context=True)
def catalog_said(context: Context) -> SafeString:
    """The time of the catalog and how much is in it; counted once a version of it.

    A view that has asked for the version already says it as `stamp`.
    """
    return standing(context.get("stamp") or CatalogVersion.stamp(), language())


@lru_cache(maxsize=8)
def standing(_stamp: str, _language: str | None) -> SafeString:
    at = CatalogVersion.objects.values_list("changed_at", flat=True).first()
    if at is None:
        return safe("")
    counted = Offer.objects.filter(ended_at=None, cross_check=False).aggregate(
        types=models.Count("instance_type", distinct=True),
        providers=models.Count("instance_type__provider", distinct=True),
    )
    types = ngettext("%(n)s instance type", "%(n)s instance types", counted["types"])
    providers = ngettext("%(n)s provider", "%(n)s providers", counted["providers"])
    said = gettext("Catalog of %(day)s UTC · %(types)s, %(providers)s") % {
        "day": f'<time datetime="{at:%Y-%m-%dT%H:%MZ}">{at:%Y-%m-%d %H:%M}</time>',
        "types": types % {"n": number(counted["types"])},
        "providers": providers % {"n": number(counted["providers"])},
    }
    return safe(f"{said} · {gettext('estimates carry their own error')}")
