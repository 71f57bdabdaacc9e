"""A query over the columns of the listing: which rows it lists, and where that cannot be said."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from catalog.columnar import TRUE, Columns, Holds, Places, Truths, columns
from catalog.filters import OfferQuery, Rows


def together(of: Columns, truths: Iterable[Truths]) -> Truths:
    """Whether all of these hold in each row."""
    all_of_them: Truths = np.minimum.reduce([np.full(len(of.offers), TRUE), *truths])
    return all_of_them


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Of each row of the listing, whether each filter holds, and whether all together do."""

    query: OfferQuery
    columns: Columns
    truths: Mapping[str, Truths]
    holds: Truths

    @classmethod
    def by(cls, query: OfferQuery, facets: Iterable[str] = ()) -> "Narrowed":
        """The listing of now, or of the time asked for, narrowed by a query, for these facets."""
        of = columns(query.as_of, query.needs(facets))
        truths = query.truths(of)
        return cls(query, of, truths, together(of, truths.values()))

    def rows(self, holds: Holds) -> Holds:
        """By row of the list, whether it holds: of a type, in any region."""
        return self.columns.any_region(holds) if self.query.rows is Rows.TYPE else holds

    def listed(self) -> tuple[Places, Places]:
        """The rows of the list, each by the row of the listing that speaks, and its regions."""
        of, holds = self.columns, self.holds == TRUE
        for name, numbers in self.query.only.items():
            holds &= np.isin(of.numbers[name], numbers)
        if self.query.rows is Rows.REGION:
            rows = np.flatnonzero(holds)
            return rows, np.ones_like(rows)
        regions = of.regions(holds)
        return of.lowest(holds), regions[regions > 0]
