"""The frame of every page: of which catalog it is."""

from functools import lru_cache

from django import template
from django.db import models
from django.template import Context
from django.utils.safestring import SafeString
from django.utils.translation import get_language, ngettext

from catalog.models import CatalogVersion, Offer
from catalog.templatetags.quantities import number, safe
from catalog.wording import gettext

register = template.Library()


@register.simple_tag(takes_context=True)
def catalog_said(context: Context) -> SafeString:
    """The time of the catalog and how much is in it; counted once a version of it.

    A view that has asked for the version already says it as `stamp`.
    """
    return standing(context.get("stamp") or CatalogVersion.stamp(), get_language())


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
