"""The bar above a list of offers: presets, chips, facets, and the links between them.

A preset is nothing but a query string. Every link here is the whole state of the page it leads to:
what the address says now, with one thing changed, and without the cursor.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django.http import QueryDict
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from catalog import columns, wording
from catalog.counts import count
from catalog.currency import Money
from catalog.filters import DECIDED, FACETS, FILTERS, OfferQuery, opposed, parse
from catalog.wording import gettext, once_a_language, pgettext

# NVLink inside and an RDMA network between, whatever its name. TCPX is GPUDirect, not RDMA.
ANY_RDMA = "infiniband,roce,efa,erdma,omni_path,slingshot"
PRESETS: Sequence[tuple[str | Promise, Mapping[str, str]]] = (
    (_("All"), {}),
    (_("NVLink + InfiniBand"), {"nvlink": "true", "infiniband": "true"}),
    (_("NVLink + any RDMA"), {"nvlink": "true", "fabric": ANY_RDMA}),
    (_("72-GPU domain"), {"nvlink_domain_gpus_min": "72"}),
    (_("One GPU"), {"gpu_count_min": "1", "gpu_count_max": "1"}),
)
BAR: Mapping[str, str | Promise] = {
    "gpu": _("GPU"),
    "fabric": _("Fabric"),
    "fabric_gbits_per_s_per_gpu_min": _("Fabric speed"),
    "gpudirect_rdma": _("GPUDirect RDMA"),
    "provider": _("Provider"),
    "continent": _("Region"),
    "price_model": _("Sold as"),
    "usd_per_gpu_hour_max": _("Price"),
}
THRESHOLD_FORMS: Mapping[str, Promise] = {
    "fabric_gbits_per_s_per_gpu_min": _("≥ %s Gb/s per GPU"),
    "usd_per_gpu_hour_max": _("≤ $%s per GPU-hour"),
}
ALWAYS_KNOWN = {"provider", "price_model"}  # an offer without them is not accepted
LISTS = {name for name, f in FILTERS.items() if f.many} | {"include_unknown", "sort", "cols"}
PAGE = ("cols", "pick", "compare")  # parameters of the page, besides those of the list
BREAK = "\n"  # between several picks, whose names may hold a comma
MOST_PICKED = 6
OPTIONS = 8  # of a facet, before the rest of it is folded
State = Mapping[str, str]
Counted = Mapping[str, Sequence[tuple[str | None, int]]]  # of each facet, the rows of each value


# --- The address ------------------------------------------------------------------------------


def state(query: QueryDict) -> dict[str, str]:
    """What an address says, one text a parameter: a list joined by commas, the empty left out."""
    said: dict[str, str] = {}
    for name, texts in query.lists():
        given = [str(text) for text in texts if text]
        if name in LISTS:
            parts = dict.fromkeys(part for text in given for part in text.split(",") if part)
            given = [",".join(parts)] if parts else []
        elif name == "pick":
            given = [BREAK.join(dict.fromkeys(given))] if given else []
        if name == "cols" and set(parts) == set(columns.USUAL):
            continue
        if given:
            said[name] = given[-1]
    return said


def link(path: str, now: State, **changes: str | None) -> str:
    """The address of `path` in this state, with some parameters changed, or dropped by None."""
    then = {**now, "cursor": None, "page": None, **changes}
    said = [
        (name, each)
        for name, text in then.items()
        if text
        for each in (text.split(BREAK) if name == "pick" else (text,))
    ]
    return f"{path}?{urlencode(said, safe=',:/;')}" if said else path


def reading(now: State) -> QueryDict:
    """A state as a query string is read: what is asked of the list."""
    return QueryDict(urlencode({name: text for name, text in now.items() if name not in PAGE}))


# --- Presets ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tab:
    """One preset as a tab."""

    title: str
    href: str
    count: int
    current: bool


def tabs(path: str, now: State, stamp: str) -> list[Tab]:
    """Every preset with its count; current only while its filters are present, however written."""
    filters = _plain({name: text for name, text in now.items() if name in FILTERS})
    also = {name: now[name] for name in (*PAGE, "currency") if name in now}
    holding = [
        bool(wanted) and _plain(wanted).items() <= filters.items() for _title, wanted in PRESETS
    ]
    holding[0] = not filters
    counted = tab_counts(stamp)
    return [
        Tab(title, link(path, {**wanted, **also}), rows, current)
        for title, (_title, wanted), rows, current in zip(
            tab_titles(), PRESETS, counted, holding, strict=True
        )
    ]


@once_a_language
def tab_titles() -> tuple[str, ...]:
    """What the presets are called."""
    return tuple(str(title) for title, _wanted in PRESETS)


def _plain(filters: State) -> dict[str, frozenset[str]]:
    """Filters so that the same question looks the same: lists in no order, and `fabric=infiniband`
    as the yes or no that it is.
    """
    plain = {name: frozenset(text.split(",")) for name, text in filters.items()}
    for name, (column, words) in DECIDED.items():
        if FILTERS[name].fields == (column,) and plain.get(column) == words:
            del plain[column]
            plain[name] = frozenset({"true"})
    return plain


@lru_cache(maxsize=1)
def tab_counts(_stamp: str) -> tuple[int, ...]:
    """The rows of each preset, the same for everyone until the catalog changes."""
    return tuple(count(parse(reading(wanted))).rows for _title, wanted in PRESETS)


# --- The sentence that a bare page begins with ------------------------------------------------


@dataclass(frozen=True, slots=True)
class Choice:
    """One gap of the sentence: the filter that it sets, and what may stand there."""

    name: str
    label: str
    options: list[tuple[str, str]]


def finder(counted: Counted) -> list[Choice]:
    """So many GPUs of a family, joined by NVLink and a fabric, somewhere, paid somehow.

    Each gap is a filter, so that what it leads to is a list like any other.
    """
    families: dict[str, list[str]] = {}
    for slug, _rows in counted["gpu"]:
        if slug:
            families.setdefault(slug.split("-")[0], []).append(slug)
    of_any = pgettext("no limit", "any")
    gpus = [(",".join(slugs), wording.gpu(family)) for family, slugs in families.items()]
    fabrics = [("infiniband", "InfiniBand"), (ANY_RDMA, gettext("any RDMA")), ("", of_any)]
    places = sorted((wording.word("continent", c), c) for c, _rows in counted["continent"] if c)
    paid = [(model, wording.word("price_model", model)) for model in ("on_demand", "spot")]
    return [
        Choice("gpu", gettext("GPUs"), [("", of_any), *sorted(gpus, key=lambda each: each[1])]),
        Choice("fabric", gettext("joined by NVLink and"), fabrics),
        Choice(
            "continent", gettext("in"), [("", gettext("any region")), *((c, w) for w, c in places)]
        ),
        Choice("price_model", gettext("paid"), [*paid, ("", of_any)]),
    ]


# --- Chips ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chip:
    """One active filter, and the address without it."""

    title: str
    text: str
    href: str

    def __str__(self) -> str:
        return f"{self.title}{gettext(': ')}{self.text}"


def contradicting(path: str, now: State, query: OfferQuery, titles: State) -> list[list[Chip]]:
    """The pairs of filters that no offer can pass both."""
    return [[_chip(path, now, query, titles, name) for name in pair] for pair in opposed(query)]


def chips(path: str, now: State, query: OfferQuery, titles: State) -> Iterator[Chip]:
    """One for each filter, and for each unknown that is let in."""
    for name in query.filters:
        yield _chip(path, now, query, titles, name)
    for name in query.include_unknown:
        rest = ",".join(other for other in query.include_unknown if other != name)
        title = wording.filter_title(name) if name in FILTERS else wording.title(name)
        yield Chip(title, gettext("unknown included"), link(path, now, include_unknown=rest))
    if query.include_stale:
        href = link(path, now, include_stale=None)
        yield Chip(gettext("Dated prices"), gettext("ranked"), href)
    if query.as_of:
        yield Chip(gettext("As of"), now["as_of"], link(path, now, as_of=None))


def _chip(path: str, now: State, query: OfferQuery, titles: State, name: str) -> Chip:
    text = now[name] if name == "q" else value_text(name, query.filters[name], titles)
    return Chip(wording.filter_title(name), text, link(path, now, **{name: None}))


def value_text(name: str, value: object, titles: State) -> str:
    """What a chip says of its filter."""
    if isinstance(value, bool):
        return gettext("yes") if value else gettext("no")
    if not isinstance(value, list):
        sign = {"_min": "≥ ", "_max": "≤ "}.get(name[-4:], "")
        return f"{sign}{_digits(value)}"
    texts = [option_text(name, text, titles) for text in value]
    return gettext(", ").join(texts[:2]) + (f" +{len(texts) - 2}" if len(texts) > 2 else "")


def _digits(value: object) -> str:
    """A whole number with its thousands apart; all else as it stands."""
    text = str(value)
    return f"{int(text):,}" if text.isdecimal() else text


def option_text(name: str, value: str, titles: State) -> str:
    """A value of a filter as people write it."""
    if name == "gpu":
        return wording.gpu(value, memory=True)
    if name == "provider":
        return titles.get(value, value)
    if value in {"true", "false"}:
        return gettext("yes") if value == "true" else gettext("no")
    return wording.word(name, value)


# --- Facets -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Option:
    """One box to tick, with the rows that it would give."""

    parameter: str
    value: str
    text: str
    count: int | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A filter as a list of options; `one` where only one can hold. The unknown stands apart."""

    name: str
    title: str
    one: bool
    options: list[Option] = field(default_factory=list)
    unknown: Option | None = None

    @property
    def folded(self) -> list[Option]:
        """The options beyond the first, where there are many more."""
        return self.options[OPTIONS:] if len(self.options) > OPTIONS + 2 else []

    @property
    def active(self) -> bool:
        """Whether anything but "any" is chosen."""
        return any(option.chosen and option.value for option in self.options)


def facets(now: State, counted: Counted, titles: State, money: Money) -> list[Facet]:
    """Those of BAR. Counts apply all other filters; zero counts are shown."""
    return [_facet(name, now, counted[name], titles, money) for name in BAR]


def _threshold(name: str, value: str, money: Money) -> str:
    """A limit in words. One in dollars stays so, with what it is in the money of the page."""
    said = _threshold_form(name) % _digits(value)
    if not name.startswith("usd_") or money.currency is None:
        return said
    return f"{said} ({money.priced(money.amount(value))})"


@once_a_language
def _threshold_form(name: str) -> str:
    return str(THRESHOLD_FORMS[name])


@once_a_language
def _title(name: str) -> str:
    return str(BAR[name])


def _facet(
    name: str,
    now: State,
    counted: Sequence[tuple[str | None, int]],
    titles: State,
    money: Money,
) -> Facet:
    thresholds = FACETS[name]
    chosen = [text for text in now.get(name, "").split(",") if text]
    rows = {value: rows for value, rows in counted if value is not None}
    rows |= {value: 0 for value in chosen if value not in rows}
    options = [
        Option(
            name,
            value,
            _threshold(name, value, money)
            if name in THRESHOLD_FORMS
            else option_text(name, value, titles),
            n,
            value in chosen,
        )
        for value, n in rows.items()
    ]
    if thresholds:
        options.insert(0, Option(name, "", pgettext("no limit", "any"), None, not chosen))
    if name in ALWAYS_KNOWN:
        return Facet(name, _title(name), bool(thresholds), options)
    unknown = dict(counted).get(None, 0)
    included = name in now.get("include_unknown", "").split(",")
    apart = Option("include_unknown", name, gettext("unknown"), unknown, included)
    return Facet(name, _title(name), bool(thresholds), options, apart)


def kept(now: State) -> Iterator[tuple[str, str]]:
    """What the form must carry besides its own boxes, so that nothing of the state is lost."""
    for name, text in now.items():
        if name == "include_unknown":
            others = [each for each in text.split(",") if each not in BAR]
            if others:
                yield name, ",".join(others)
        elif name not in {*BAR, *PAGE, "q", "cursor"}:
            yield name, text


# --- What is picked to be compared ------------------------------------------------------------


def pick_of(row: Mapping[str, Any]) -> str:
    """A row as it is picked: provider/type;price model;tier."""
    name = f"{row['provider']}/{row['instance_type']};{row['price_model']}"
    return f"{name};{row['tier']}" if row["tier"] else name


@dataclass(frozen=True, slots=True)
class Picked:
    """One thing to compare, as the tray names it."""

    value: str
    title: str


def picked(now: State, titles: State) -> list[Picked]:
    """What is picked, the first six."""
    found = []
    for value in now.get("pick", "").split(BREAK)[:MOST_PICKED]:
        provider, _slash, rest = value.partition("/")
        name = rest.partition(";")[0]
        if name:
            found.append(Picked(value, f"{titles.get(provider, provider)} {name}"))
    return found


def too_many(now: State) -> bool:
    """Whether more is picked than one table can hold side by side."""
    return len(now.get("pick", "").split(BREAK)) > MOST_PICKED
