"""A column of a comparison, and what a cost is per."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from catalog import ranking, wording
from catalog.currency import sign_of
from comparisons.picks import Pick
from comparisons.snapshot import OFFERED, UNRECORDED

Row = Mapping[str, Any]
PER = {
    "usd_per_mtoken": _("%(money)s per million tokens"),
    "usd_per_step": _("%(money)s per 1,000 steps"),
    "usd_per_gpu_hour": _("%(money)s per GPU-hour"),
}


class _Absent:
    """Nothing to compare, and not unknown."""


ABSENT: Final = _Absent()


def per(name: str, code: str) -> str:
    """The unit of a cost, by its name in dollars, in a currency."""
    return str(PER[name]) % {"money": sign_of(code)}


@dataclass(frozen=True, slots=True)
class Column:
    """One offer: its row with the evidence of its type, and what each workload does on it."""

    key: str
    status: str
    offer: Row
    prices: Mapping[str, Row] = field(default_factory=dict)  # by price model
    results: Mapping[int, Row] = field(default_factory=dict)  # by workload, as `ranking.row_of`
    reasons: Mapping[int, str] = field(default_factory=dict)  # why it is left out there

    @property
    def offered(self) -> bool:
        """Whether it can be rented as asked."""
        return self.status == OFFERED

    @property
    def nothing(self) -> Any:
        """What stands in place of its price: unknown is not the same as not offered."""
        return None if self.status == UNRECORDED else ABSENT

    @property
    def title(self) -> str:
        """What it is called in a sentence."""
        return title_of(self.offer)


def title_of(offer: Row) -> str:
    """The provider, its name for the type, and how it is sold where that is not on demand."""
    model = offer["price_model"]
    sold = wording.word("price_model", model) if model not in {None, "on_demand"} else ""
    name = f"{offer['provider_title']} {offer['instance_type']}"
    return beside(name, sold) if sold else name


def beside(text: str, more: str) -> str:
    """A text with more of it in brackets, in the brackets of the language."""
    return gettext("%(text)s (%(more)s)") % {"text": text, "more": more}


def title_of_pick(pick: Pick, titles: Mapping[str, str]) -> str:
    """The same of a pick, by the titles of providers."""
    return title_of({**asdict(pick), "provider_title": titles.get(pick.provider, pick.provider)})


def result_of(result: Row, offer: Row) -> dict[str, Any]:
    """A result as the page of a ranking shows its row."""
    return ranking.row_of({**result, "offer": offer})
