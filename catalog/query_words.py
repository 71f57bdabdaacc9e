"""A query said in words: "Offers with NVLink and InfiniBand in Europe, on demand, cheapest first".

A phrase a filter; what has none of its own is said as its chip says it, so that nothing that was
asked for stays unsaid. Japanese puts all of it after a colon, since its order is another.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.utils import translation
from django.utils.text import slugify

from catalog import presets, wording
from catalog.filters import OfferQuery, Rows
from catalog.presets import State
from catalog.templatetags.quantities import number
from catalog.wording import gettext, ngettext, pgettext

NAMED = 2  # values of a filter that are named, before the others are counted
LONGEST = 100  # name of a file
# What a row has, by the name of a product, where a filter asks for it; "no" is what it is without.
HAVING = {
    "nvlink": "NVLink", "infiniband": "InfiniBand", "gpudirect": "GPUDirect",
    "gpudirect_rdma": "GPUDirect RDMA", "sharp": "SHARP",
}  # fmt: skip
PLACES = ("region", "country", "continent")
ASKED, DENIED = (True, ["yes"]), (False, ["no"])


def said(query: OfferQuery, now: State, titles: State) -> str:
    """The question as a heading."""
    words = _Words(query, now, titles)
    head = pgettext("between the parts of a query", " ").join(words.head())
    start = gettext("Offers %(head)s") % {"head": head} if head else gettext("Offers")
    return gettext(", ").join([start, *words.rest()])


def file_name(query: OfferQuery) -> str:
    """What its file is called, in ASCII, whoever asks in whichever language."""
    if not query.filters:
        return "offers"
    words = query.filters.get("q")
    text = " ".join(word.strip("%") for word in words) if isinstance(words, list) else ""
    with translation.override("en"):
        return slugify(said(query, {"q": text}, {}))[:LONGEST].rstrip("-")


class _Words:
    """The phrases of one query, each filter in one of them."""

    def __init__(self, query: OfferQuery, now: State, titles: State) -> None:
        self.query, self.now, self.titles = query, now, titles
        self.left = dict(query.filters)

    def head(self) -> Iterator[str]:
        """What stands in the noun phrase: of which GPUs, with what, from whom, where."""
        if gpus := self._take("gpu"):
            yield gettext("of %(all)s") % {"all": self._either("gpu", gpus)}
        if having := list(self._having()):
            yield gettext("with %(all)s") % {"all": _joined(having)}
        if without := list(self._named(DENIED)):
            yield gettext("without %(all)s") % {"all": _joined(without)}
        if sellers := self._take("provider"):
            yield gettext("from %(all)s") % {"all": self._either("provider", sellers)}
        for name in PLACES:
            if places := self._take(name):
                yield gettext("in %(all)s") % {"all": self._either(name, places)}

    def rest(self) -> Iterator[str]:
        """What follows by commas: size, price, what is let in, and the order."""
        yield from self._counts()
        if models := self._take("price_model"):
            yield self._either("price_model", models)
        if most := self._take("usd_per_gpu_hour_max"):
            yield gettext("at most $%(usd)s per GPU-hour") % {"usd": most}
        if self.left.get("available") is True and self._take("available"):
            yield gettext("available now")
        if self.left.pop("q", None):
            yield gettext("“%(text)s”") % {"text": self.now["q"]}
        for name, value in self.left.items():
            text = presets.value_text(name, value, self.titles)
            yield f"{wording.filter_title(name)}{gettext(': ')}{text}"
        yield from self._let_in()
        yield from self._order()

    def _having(self) -> Iterator[str]:
        yield from self._named(ASKED)
        for name in ("fabric", "scale_up"):
            if values := self._take(name):
                yield self._either(name, values)
        if least := self._take("fabric_gbits_per_s_per_gpu_min"):
            yield gettext("at least %(n)s Gb/s of fabric per GPU") % {"n": _digits(least)}
        if least := self._take("nvlink_domain_gpus_min"):
            yield gettext("an NVLink domain of at least %(n)s GPUs") % {"n": _digits(least)}
        if least := self._take("max_gpus_on_one_fabric_min"):
            yield gettext("at least %(n)s GPUs on one fabric") % {"n": _digits(least)}

    def _counts(self) -> Iterator[str]:
        least, most = self._take("gpu_count_min"), self._take("gpu_count_max")
        if least and least == most:
            n = float(str(least))
            yield ngettext("%(n)s GPU", "%(n)s GPUs", int(n)) % {"n": number(n)}
        elif least and most:
            yield gettext("%(low)s to %(high)s GPUs") % {"low": least, "high": most}
        elif least:
            yield gettext("at least %(n)s GPUs") % {"n": least}
        elif most:
            yield gettext("at most %(n)s GPUs") % {"n": most}

    def _let_in(self) -> Iterator[str]:
        unknown = dict.fromkeys(map(wording.unknown_of, self.query.include_unknown))
        if unknown:
            yield gettext("also where unknown: %(all)s") % {"all": gettext(", ").join(unknown)}
        if self.query.include_stale:
            yield gettext("dated prices ranked")
        if self.query.as_of:
            yield gettext("as of %(day)s") % {"day": self.query.as_of.date()}
        if self.query.rows is Rows.REGION:
            yield gettext("one row per region")

    def _order(self) -> Iterator[str]:
        name, down = self.query.sort[0]
        if name in {"usd_per_gpu_hour", "usd_per_hour"}:
            yield gettext("dearest first") if down else gettext("cheapest first")
        else:
            by = gettext("by %(title)s, the highest first") if down else gettext("by %(title)s")
            yield by % {"title": wording.title(name)}

    def _either(self, name: str, values: Sequence[str]) -> str:
        """Values of a list, of which any will do."""
        texts = [presets.option_text(name, value, self.titles) for value in values]
        if len(texts) > NAMED + 1:
            more = gettext("%(n)d more") % {"n": len(texts) - NAMED}
            texts = [*texts[:NAMED], more]
        return _joined(texts, gettext("%(first)s or %(last)s"))

    def _take(self, name: str) -> Any:
        return self.left.pop(name, None)

    def _named(self, wanted: tuple[object, ...]) -> Iterator[str]:
        """The products of which that is wanted."""
        for name, title in HAVING.items():
            if self.left.get(name) in wanted:
                del self.left[name]
                yield title


def _joined(texts: Sequence[str], last: str = "") -> str:
    """A, B and C."""
    if len(texts) == 1:
        return texts[0]
    both = last or gettext("%(first)s and %(last)s")
    return both % {"first": gettext(", ").join(texts[:-1]), "last": texts[-1]}


def _digits(value: object) -> str:
    return number(str(value))
