"""Keyset pages of the small lists, with cursors that are good for the list they came from alone."""

from collections.abc import Sequence
from typing import Any

from django.core import signing
from django.db.models import QuerySet
from rest_framework.pagination import Cursor as Place
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request

from catalog.query import LARGEST_PAGE, PAGE_SIZE, BadQuery


class Cursor(CursorPagination):
    """DRF's, but for the cursor: signed, so that an altered one is a 400, and without a host."""

    page_size, max_page_size, page_size_query_param = PAGE_SIZE, LARGEST_PAGE, "page_size"
    ordering = "pk"

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: Any = None
    ) -> list[Any] | None:
        """The rows of one page."""
        kept = request.query_params.copy()
        kept.pop("cursor", None)
        self.address = f"{request.path}?{kept.urlencode()}"
        kept.pop("page_size", None)
        self.list = f"{request.path}?{kept.urlencode()}"
        return super().paginate_queryset(queryset, request, view)

    def encode_cursor(self, cursor: Place) -> str:
        """The address of a neighbouring page: a path, as no header may name the host."""
        token = signing.dumps([cursor.offset, cursor.reverse, cursor.position], salt=self.list)
        return f"{self.address}&cursor={token}"

    def decode_cursor(self, request: Request) -> Place | None:
        """Where the page begins.

        Raises
        ------
        BadQuery
            The cursor was not given out for this very list.
        """
        token = request.query_params.get("cursor")
        if not token:
            return None
        try:
            return Place(*signing.loads(token, salt=self.list))
        except signing.BadSignature:
            message = "is not a cursor of this list: take it from `next` of the same query."
            raise BadQuery({"cursor": [message]}) from None

    def get_page_size(self, request: Request) -> int:
        """1 to 500."""
        text = request.query_params.get("page_size", "")
        if text and not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= LARGEST_PAGE):
            raise BadQuery({"page_size": [f"must be a whole number from 1 to {LARGEST_PAGE}."]})
        return int(text or PAGE_SIZE)
