"""What the frame of every page knows of its reader, from cookies alone.

No session is read and no table asked: the public pages cost a visitor the same whoever it is, and
the header of a page that says that the database is away needs no database.
"""

from django.conf import settings
from django.http import HttpRequest

THEMES = ("light", "dark")
THEME_COOKIE = "theme"


def visitor(request: HttpRequest) -> dict[str, object]:
    """`theme`, empty for the system's; `signed_in`, true for whoever brings a session along."""
    theme = request.COOKIES.get(THEME_COOKIE)
    return {
        "theme": theme if theme in THEMES else "",
        "signed_in": settings.SESSION_COOKIE_NAME in request.COOKIES,
    }
