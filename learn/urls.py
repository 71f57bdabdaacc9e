"""Addresses of this room's pages."""

from django.urls import path, register_converter
from django.urls.converters import SlugConverter

from learn import pages
from learn.words import words


class WordConverter(SlugConverter):
    """The slug of a word; anything else below /learn/ is the catalog's (values, accuracy)."""

    def to_python(self, value: str) -> str:
        """The slug itself."""
        if value not in words():
            raise ValueError(value)
        return value


register_converter(WordConverter, "word")
urlpatterns = [
    path("learn/", pages.index, name="learn"),
    path("learn/<word:slug>/", pages.word, name="word"),
]
