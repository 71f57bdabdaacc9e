"""The listing by columns: what lists are narrowed, sorted and counted by, in memory.

A row is an offer. Rows of one type, sold in one way, stand together, the lowest price first: they
are the regions of one row of a list of types. Of the listing of now each process keeps one copy,
good while the revision stands that it was read at (`listing_sql`); as of a time it is read anew.

What is said of every row is an array of *truths* in Kleene's logic: 1 is true, 0 unknown, -1 false.
So `and` is the minimum, `or` the maximum, and `not` changes the sign.
"""

import threading
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import numpy as np
import orjson
from django.db import OperationalError, connection, transaction
from numpy.typing import NDArray

from catalog import listing_columns
from catalog.applies import NO_PLACE

T = TypeVar("T")
Truths = NDArray[np.int8]
Holds = NDArray[np.bool_]
Floats = NDArray[np.float64]
Places = NDArray[np.intp]

TRUE, UNKNOWN, FALSE = np.int8(1), np.int8(0), np.int8(-1)
NUMBERED = ("offer_id", "instance_type_id", "row_key")
# What every list is folded and sorted by, and what most are narrowed and counted by.
ALWAYS = (
    "provider", "instance_type", "via", "region", "tier", "price_model", "usd_per_gpu_hour",
    "outdated_at",
)  # fmt: skip
OFTEN = (
    *ALWAYS,
    "available", "country", "continent", "provider_title", "gpu", "gpu_vendor", "form_factor",
    "gpu_count", "gpu_memory_gb", "total_gpu_memory_gb", "scale_up", "nvlink_generation",
    "nvlink_domain_gpus", "scale_up_domain_gpus", "domain_gpu_memory_gb", "scale_up_gbytes_per_s",
    "fabric", "fabric_gbits_per_s", "fabric_gbits_per_s_per_gpu", "gpudirect", "gpudirect_rdma",
    "sharp", "multi_node", "max_gpus_on_one_fabric", "usd_per_hour", "stale_at",
)  # fmt: skip
NUMERIC = listing_columns.NUMBERS | {"available", "total_gpu_memory_gb", "outdated_at", "stale_at"}
TIMES = {"outdated": "outdated_at", "stale": "stale_at"}  # what is true after a time
SEARCHED = ("provider_title", "provider", "instance_type", "gpu", "region", "fabric", "tier")
PATIENCE_S = 5.0  # as long as a statement may take where somebody waits


class Moved(OperationalError):
    """The listing became another one between the reading of its columns and of its rows."""


@dataclass(frozen=True, slots=True)
class Words:
    """A column of texts: all that there are, in order, and which of them each row has.

    A row of which it is unknown has place -1, before all others.
    """

    words: Sequence[str]
    places: Places

    @classmethod
    def of(cls, texts: Sequence[str | None]) -> "Words":
        """The column of these texts."""
        words = sorted({text for text in texts if text is not None})
        place: dict[str | None, int] = {word: n for n, word in enumerate(words)}
        place[None] = -1
        return cls(words, np.fromiter(map(place.__getitem__, texts), np.intp, len(texts)))

    def __getitem__(self, rows: Places) -> "Words":
        return Words(self.words, self.places[rows])

    def among(self, wanted: Collection[str]) -> Truths:
        """Whether a row has one of them."""
        holds = [TRUE if word in wanted else FALSE for word in self.words]
        return np.array([*holds, UNKNOWN])[self.places]

    def place(self, word: str | None) -> float:
        """Where it stands, or between which two it would."""
        if word is None:
            return -1
        at = bisect_left(self.words, word)
        return at if at < len(self.words) and self.words[at] == word else at - 0.5


def compared(compare: Callable[..., Holds], column: Floats, number: float) -> Truths:
    """A comparison of each row with a number."""
    return np.where(np.isnan(column), UNKNOWN, np.where(compare(column, number), TRUE, FALSE))


def let_through(truths: Truths) -> Truths:
    """The same where an unknown passes."""
    return np.where(truths == FALSE, FALSE, TRUE)


@dataclass
class Columns:
    """The listing at one revision: of now, or as of a time.

    `numbers` has each row's offer and instance type, `keys` counts the rows of a list of types, and
    `starts` is where each of them begins.
    """

    revision: str | None
    as_of: datetime | None
    numbers: Mapping[str, NDArray[np.int64]]
    keys: Places
    starts: Places
    texts: dict[str, Words]
    amounts: dict[str, Floats]
    made: dict[object, Any] = field(default_factory=dict)

    @property
    def offers(self) -> NDArray[np.int64]:
        """The number of each row's offer."""
        return self.numbers["offer_id"]

    def __getitem__(self, name: str) -> Words | Floats:
        return self.floats(name) if name in TIMES or name in NUMERIC else self.words(name)

    def words(self, name: str) -> Words:
        """A column of texts."""
        if name not in self.texts:
            self.texts[name] = Words.of(self._besides(name))
        return self.texts[name]

    def floats(self, name: str) -> Floats:
        """A column of numbers, or of 1 and 0 for yes and no; NaN where unknown."""
        if name in TIMES:
            return self._is_past(self.floats(TIMES[name]))
        if name not in self.amounts:
            self.amounts[name] = np.array(self._besides(name), np.float64)
        return self.amounts[name]

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What is made of the columns alone, made once."""
        if key not in self.made:
            self.made[key] = make()
        made: T = self.made[key]
        return made

    def arises(self, attribute: str) -> Holds | None:
        """Where it has a place (`applies`), or stands all the same; None where it has in each."""
        ruled_out = NO_PLACE.get(attribute)
        if not ruled_out:
            return None
        return self.once(("arises", attribute), lambda: self._arises(attribute, ruled_out.items()))

    @property
    def searched(self) -> Sequence[str]:
        """What is searched in each row, in small letters."""
        return self.once("searched", self._searched)

    # --- Rows of a list of types ---

    def any_region(self, holds: Holds) -> Holds:
        """By row of a list of types: whether it holds in some region."""
        return np.logical_or.reduceat(holds, self.starts)

    def regions(self, holds: Holds) -> NDArray[np.intp]:
        """By row of a list of types: in how many regions it holds."""
        return np.add.reduceat(holds, self.starts, dtype=np.intp)

    def lowest(self, holds: Holds) -> Places:
        """The region that speaks for each row: its lowest of those in which it holds.

        A price that is too old to rank, or none, speaks only where there is no other.
        """
        rows = len(holds)
        after = self._is_past(self.floats("outdated_at")) > 0
        unpriced = np.isnan(self.floats("usd_per_gpu_hour"))
        place = np.arange(rows) + rows * after + 2 * rows * unpriced
        place[~holds] = 4 * rows
        lowest = np.minimum.reduceat(place, self.starts)
        return lowest[lowest < 4 * rows] % max(rows, 1)

    # --- How it is read ---

    def _is_past(self, times: Floats) -> Floats:
        now = (self.as_of or datetime.now(UTC)).timestamp()
        return np.where(np.isnan(times), np.nan, times < now)

    def _arises(self, attribute: str, ruled_out: Iterable[tuple[str, Sequence[str]]]) -> Holds:
        column = self[attribute]
        known = column.places >= 0 if isinstance(column, Words) else ~np.isnan(column)
        out = [self.words(other).among(values) == TRUE for other, values in ruled_out]
        arises: Holds = known | ~np.logical_or.reduce(out)
        return arises

    def _searched(self) -> list[str]:
        columns = []
        for name in SEARCHED:
            column = self.words(name)
            words = [*(word.lower() for word in column.words), ""]
            columns.append([words[place] for place in column.places])
        return list(map(" ".join, zip(*columns, strict=True)))

    def _besides(self, name: str) -> list[Any]:
        """A column that is seldom asked for."""
        revision, read = _read(self.as_of, ("offer_id", name))
        if revision != self.revision:
            raise Moved
        of_offer = dict(zip(read("offer_id"), read(name), strict=True))
        return [of_offer[offer] for offer in self.offers.tolist()]


class _Kept:
    """The listing of now as it was read last; of several who find it changed, one reads it."""

    found: Columns | None = None
    reading = threading.Lock()


def columns(as_of: datetime | None = None, needs: Iterable[str] = ()) -> Columns:
    """The listing of now; or of a time, of columns that are needed, others when asked for.

    Raises
    ------
    OperationalError
        Where another has not read it for so long that it is of no use to wait for it.
    """
    if as_of is not None:
        return _listing(as_of, sorted({*ALWAYS, *(TIMES.get(name, name) for name in needs)}))
    found = _standing()
    if found is None:
        if not _Kept.reading.acquire(timeout=PATIENCE_S):
            raise OperationalError("another request is still reading the listing")
        try:
            found = _standing()  # another may have read it meanwhile
            if found is None:
                found = _Kept.found = _listing(None, OFTEN)
        finally:
            _Kept.reading.release()
    return found


def in_one_piece(answer: Callable[[], T]) -> T:
    """What is answered by columns and rows of the same listing.

    Where it has moved in between, once more of one state of the database, however fast it is
    written to: within a transaction, who writes waits for its end.
    """
    with suppress(Moved):
        return answer()
    still = "set transaction isolation level repeatable read, read only"
    if connection.in_atomic_block:
        still = "select from catalog_catalogversion for share"
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(still)
        return answer()


def _standing() -> Columns | None:
    """What is kept, if it is of the listing that stands."""
    found, revision = _Kept.found, _revision()
    return found if found and revision and found.revision == revision else None


def _revision() -> str | None:
    with connection.cursor() as cursor:
        cursor.execute("select revision from catalog_catalogversion")
        row = cursor.fetchone()
    return str(row[0]) if row and row[0] else None


def _listing(as_of: datetime | None, names: Sequence[str]) -> Columns:
    revision, read = _read(as_of, (*NUMBERED, *names))
    numbers = {name: np.array(read(name), np.int64) for name in NUMBERED}
    texts = {name: Words.of(read(name)) for name in names if name not in NUMERIC}
    amounts = {name: np.array(read(name), np.float64) for name in names if name in NUMERIC}
    offers, keys, region = numbers["offer_id"], numbers["row_key"], texts["region"].places
    nowhere_last = np.where(region < 0, len(offers), region)
    order = np.lexsort((offers, nowhere_last, amounts["usd_per_gpu_hour"], keys))
    keys = keys[order]
    begins = np.append(True, keys[1:] != keys[:-1])[: len(keys)]
    return Columns(
        revision,
        as_of,
        {name: column[order] for name, column in numbers.items()},
        np.cumsum(begins) - 1,
        np.flatnonzero(begins),
        {name: column[order] for name, column in texts.items()},
        {name: column[order] for name, column in amounts.items()},
    )


def _read(
    as_of: datetime | None, names: Iterable[str]
) -> tuple[str | None, Callable[[str], list[Any]]]:
    """The revision, and what has each of these columns as a list: one at a time, for memory."""
    names = list(names)
    source, at = ("offer_listing", []) if as_of is None else ("offer_listing_at(%s)", [as_of])
    seconds = {name: f"extract(epoch from {name})" for name in TIMES.values()}
    read = ", ".join(f"json_agg({seconds.get(name, name)})::text" for name in names)
    sql = (
        f"select (select revision::text from catalog_catalogversion), {read} "
        f"from (select {', '.join(names)} from {source} offset 0) l"  # each expression once
    )
    with transaction.atomic(), connection.cursor() as cursor:
        # Read once for all who ask, it may take longer than what each of them asks.
        cursor.execute("select current_setting('statement_timeout')")
        (before,) = cursor.fetchone()
        cursor.execute("set local statement_timeout = '60s'")
        cursor.execute(sql, at)
        revision, *columns = cursor.fetchone()
        cursor.execute("select set_config('statement_timeout', %s, true)", [before])
    texts = dict(zip(names, columns, strict=True))
    return revision, lambda name: orjson.loads(texts.pop(name) or "[]")
