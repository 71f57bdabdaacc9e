"""What a printed page says at its end: where it is from, and of what it is made."""

from datetime import datetime
from functools import lru_cache

from django import template
from django.conf import settings
from django.template import Context

import scoring
from catalog.models import CatalogVersion
from catalog.wording import gettext

register = template.Library()


@register.simple_tag(takes_context=True)
def printed_from(context: Context) -> str:
    """The address of the page, the time of the catalog and the version of the cost model."""
    here = context.get("here") or context["request"].get_full_path()
    said = [gettext("Printed from %(address)s") % {"address": settings.PUBLIC_URL + here}]
    if changed_at := _changed(context.get("stamp") or CatalogVersion.stamp()):
        said.append(gettext("catalog of %(day)s UTC") % {"day": f"{changed_at:%Y-%m-%d %H:%M}"})
    said.append(gettext("cost model %(version)s") % {"version": scoring.MODEL_VERSION})
    return " · ".join(said)


@lru_cache(maxsize=1)
def _changed(_stamp: str) -> datetime | None:
    return CatalogVersion.changed()
