"""The rows of a list, whichever page they stand on."""

from collections.abc import Iterator
from typing import Any, Generic, TypeVar
from urllib.parse import parse_qsl, urlsplit

from fabricscout.connection import Connection, Parameters

LARGEST_PAGE = 500

T = TypeVar("T")


class Rows(Generic[T]):
    """The rows of a list, one page after another; the first is fetched at once.

    `about` is what the list says besides its rows: `left_out`, `count`, `facets`...
    """

    def __init__(self, connection: Connection, path: str, parameters: Parameters) -> None:
        self._connection, self._path = connection, path
        self._first = connection.get(path, {"page_size": LARGEST_PAGE, **parameters})

    @property
    def about(self) -> dict[str, Any]:
        """The first page without its rows and its neighbours."""
        rows = ("results", "next", "previous")
        return {key: value for key, value in self._first.items() if key not in rows}

    def __iter__(self) -> Iterator[T]:
        page = self._first
        yield from page["results"]
        while page["next"] is not None:
            following = dict(parse_qsl(urlsplit(page["next"]).query))
            page = self._connection.get(self._path, following)
            yield from page["results"]
