"""How many rows a list has, how many an unknown keeps out, how many each value of a facet gives.

All of them from the columns of the listing: of each row whether every condition holds, cannot be
said, or does not.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from catalog.columnar import TRUE, UNKNOWN, Columns, Holds, Words
from catalog.filters import FACETS, FILTERS, OfferQuery, Rows, opposed
from catalog.narrowed import Narrowed, together

Facet = Sequence[tuple[str | None, int]]


@dataclass(frozen=True, slots=True)
class Counts:
    """The rows of a whole list, those that an unknown kept out, and by facet those of each value.

    A row is what the list has for one: a type × tier × price model, or an offer in a region. A
    facet applies all filters but its own, to the rows in which it has a place; the unknown is
    counted under None, and last.
    """

    rows: int = 0
    left_out: int = 0
    left_out_by: Mapping[str, int] = field(default_factory=dict)
    facets: Mapping[str, Sequence[tuple[str | None, int]]] = field(default_factory=dict)


def count(query: OfferQuery, facets: Iterable[str] = ()) -> Counts:
    """Every count of one list."""
    facets = list(facets)
    return counts_of(Narrowed.by(query, facets), facets)


def counts_of(narrowed: Narrowed, facets: Iterable[str] = ()) -> Counts:
    """The same of a query that is narrowed already."""
    left_out = {} if any(opposed(narrowed.query)) else dict(_left_out(narrowed))
    return Counts(
        rows=int(narrowed.rows(narrowed.holds == TRUE).sum()),
        left_out=left_out.pop("", 0),
        left_out_by={name: rows for name, rows in left_out.items() if rows},
        facets={name: _facet(name, narrowed) for name in facets},
    )


def misses(query: OfferQuery) -> list[tuple[tuple[str, ...], int]]:
    """Where a list is empty: the fewest filters to drop for rows to be in it, and how many rows.

    Several such sets of equally few, the one that lets most in first; none where the catalog is
    empty.
    """
    narrowed = Narrowed.by(query)
    truths = narrowed.truths
    failed = np.array([each != TRUE for each in truths.values()], np.int64)
    failed = failed.reshape(len(truths), len(narrowed.columns.offers))
    how_many = failed.sum(axis=0)
    fewest = how_many == how_many.min(initial=len(truths))
    kinds = (1 << np.arange(len(truths))) @ failed  # a bit a filter
    found = (
        (
            tuple(name for n, name in enumerate(truths) if kind >> n & 1),
            int(narrowed.rows(fewest & (kinds == kind)).sum()),
        )
        for kind in np.unique(kinds[fewest])
    )
    return sorted(found, key=lambda each: (-each[1], each[0]))


def _left_out(narrowed: Narrowed) -> Iterator[tuple[str, int]]:
    """The rows that would be listed but for an unknown, in all and by filter.

    What one region lists is in the list: that another's is unknown keeps nothing out.
    """
    unlisted = ~narrowed.rows(narrowed.holds == TRUE)
    unsaid = narrowed.holds == UNKNOWN
    yield "", int((narrowed.rows(unsaid) & unlisted).sum())
    for name, each in narrowed.truths.items():
        yield name, int((narrowed.rows(unsaid & (each == UNKNOWN)) & unlisted).sum())


def _facet(name: str, narrowed: Narrowed) -> Facet:
    """The rows of each value, or that reach each threshold, were it not for its own filter."""
    truths = (each for other, each in narrowed.truths.items() if other != name)
    others = together(narrowed.columns, truths) == TRUE
    arises = FILTERS[name].arises(narrowed.columns)
    if arises is not None:
        others &= arises
    return (_reached if FACETS[name] else _values)(name, narrowed, others)


def _reached(name: str, narrowed: Narrowed, others: Holds) -> Facet:
    """Thresholds as they stand, the unknown last: of a type, what its best region reaches."""
    column = narrowed.columns.floats(FILTERS[name].fields[0])
    most = name.endswith("_max")
    compare, best = (np.less_equal, np.fmin) if most else (np.greater_equal, np.fmax)
    said = np.where(others, column, np.nan)
    if narrowed.query.rows is Rows.TYPE:
        said = best.reduceat(said, narrowed.columns.starts)
    reached = [(text, int(compare(said, float(text)).sum())) for text in FACETS[name]]
    return [*reached, (None, int(narrowed.rows(others & np.isnan(column)).sum()))]


def _values(name: str, narrowed: Narrowed, others: Holds) -> Facet:
    """Values by their rows, the most first; the unknown last."""
    said = _said(name, narrowed.columns)
    places = said.places[others] + 1
    if narrowed.query.rows is Rows.TYPE:  # each once a row, in however many regions it is said
        width = len(said.words) + 1
        places = np.unique(narrowed.columns.keys[others] * width + places) % width
    rows = np.bincount(places, minlength=1)
    found = [(value, int(n)) for value, n in zip((None, *said.words), rows, strict=False) if n]
    return sorted(found, key=lambda each: (each[0] is None, -each[1], each[0] or ""))


def _said(name: str, of: Columns) -> Words:
    """What a facet is counted by: a column, or whether a condition holds."""
    wanted = FILTERS[name]
    if wanted.many:
        return of.words(wanted.fields[0])
    return Words(("false", "true"), np.array([-1, 1, 0])[wanted.condition(of, True)])
