"""The pages of words: the index with a buyer's questions, and one page a word."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from catalog.freshness import dated
from learn import drawings, figures, tables
from learn.words import GROUPS, questions, rendered, said, words


@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """A buyer's questions with today's counts, then every word in its group."""
    context = {
        "room": "learn",
        "questions": [(said(q["title"]), rendered(said(q["text"]))) for q in questions()],
        "groups": [
            (group_title(group), [word for word in words().values() if word.group == group])
            for group in GROUPS
        ],
    }
    return render(request, "learn/index.html", context)


@require_safe
def word(request: HttpRequest, slug: str) -> HttpResponse:
    """One word: its figures, what it is, offers that show it, and the filter that finds them."""
    found = words()[slug]
    slugs = list(words())
    place = slugs.index(slug)
    rows = figures.examples(found)
    context = {
        "room": "learn",
        "word": found,
        "group": group_title(found.group),
        "figures": figures.figures(found),
        "text": found.text(),
        "drawing": drawings.drawing(found, rows),
        "table": tables.table(found.table),
        "rows": rows,
        "dated": dated(rows) == "some",
        "counts": figures.counted(found.shows) if found.shows else None,
        "previous": words()[slugs[place - 1]] if place else None,
        "next": words()[slugs[place + 1]] if place + 1 < len(slugs) else None,
    }
    return render(request, "learn/word.html", context)


def group_title(group: str) -> str:
    """What a group of words is called."""
    return {
        "inside": gettext("Inside one domain"),
        "between": gettext("Between instances"),
        "job": gettext("What a job does with it"),
        "choosing": gettext("Choosing"),
    }[group]
