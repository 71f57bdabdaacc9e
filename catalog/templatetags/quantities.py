"""How a value looks: its digits, how sure it is, and what stands where nobody says.

A cell is one function from a row to HTML. They write strings themselves, since a page has some
550 cells and may cost 8 ms; whatever comes from outside goes through `escape` first.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from html import escape
from typing import Any
from urllib.parse import quote

from django import template
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext, ngettext

from catalog import charts, wording
from catalog.freshness import FACTS
from catalog.presets import Facet, Option

register = template.Library()
Row = Mapping[str, Any]

LINKED_BARS_GBYTES_PER_S = 900  # the cliff's two bars: one scale for all rows
BAR = 88  # [px]
UNLINKED = {"pcie", "none"}


def safe(html: str) -> SafeString:
    """HTML that this module has put together from escaped parts."""
    return mark_safe(html)  # noqa: S308


# --- Digits -----------------------------------------------------------------------------------


@register.filter
def number(value: Any) -> str:
    """400, 1,391, 12.5, 0.125: no unit, at most three decimals, none that are zero."""
    if value is None:
        return ""
    amount = float(value)
    if amount == int(amount):
        return f"{amount:,.0f}"
    return f"{amount:,.{3 if abs(amount) < 1 else 2}f}".rstrip("0").rstrip(".")


@register.filter
def dollars(value: Any) -> str:
    """Two decimals, so that a column lines up; four under ten cents. The heading has the sign."""
    if value is None:
        return ""
    amount = float(value)
    return f"{amount:,.4f}" if amount < 0.1 else f"{amount:,.2f}"


@register.filter
def percent(value: Any) -> str:
    """A share as a whole number of hundredths, without its sign."""
    return "" if value is None else f"{100 * float(value):.0f}"


@register.filter
def figure(value: Any) -> str:
    """Three digits that matter, for estimates: 0.497, 11.8, 2,368."""
    if value is None:
        return ""
    amount = float(value)
    size = abs(amount)
    places = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{amount:,.{places}f}"


@register.filter
def price(value: Any) -> str:
    """Of a unit of work: three decimals under ten dollars, so that a column lines up."""
    if value is None:
        return ""
    amount = float(value)
    return f"{amount:,.3f}" if amount < 10 else f"{amount:,.2f}"


@register.filter
def duration(seconds: Any) -> str:
    """11.8 s, 45 ms, 12 µs."""
    amount = float(seconds or 0)
    if amount == 0:
        return "0 s"
    if amount < 1e-3:
        return f"{figure(1e6 * amount)} µs"
    return f"{figure(1000 * amount)} ms" if amount < 1 else f"{figure(amount)} s"


# --- Age --------------------------------------------------------------------------------------


def today() -> date:
    """The day by UTC."""
    return datetime.now(UTC).date()


def day_of(moment: date | datetime | str | None) -> date | None:
    """The day of a date, a time, or the ISO text of either."""
    if isinstance(moment, str):
        return date.fromisoformat(moment[:10])
    return moment.date() if isinstance(moment, datetime) else moment


@register.filter
def age(moment: date | datetime | str | None) -> str:
    """102 d below a year, then 1.2 y."""
    day = day_of(moment)
    if day is None:
        return ""
    days = max((today() - day).days, 0)
    if days < 365:
        return gettext("%(days)d d") % {"days": days}
    return gettext("%(years).1f y") % {"years": days / 365.25}


@register.filter
def since(moment: date | datetime | str | None) -> SafeString:
    """An age with its date behind it."""
    day = day_of(moment)
    if day is None:
        return safe("")
    return safe(f'<time datetime="{day}" title="{day}">{age(day)}</time>')


@register.filter
def checked(moment: date | str | None) -> SafeString:
    """When a fact was last checked; with the clock mark where that is too long ago."""
    day = day_of(moment)
    if day is None:
        return safe(f'<span class="na">{gettext("never")}</span>')
    return old(day) if today() - day > FACTS else since(day)


def old(moment: date | datetime | str, label: str = "") -> SafeString:
    """An age that is past its limit."""
    label = label or gettext("stale")
    return safe(f'<span class="old">{mark("stale", label)}{since(moment)}</span>')


# --- How sure ---------------------------------------------------------------------------------


@register.simple_tag
def mark(kind: str, label: str = "") -> SafeString:
    """The shape of a kind of value. Without a label it is decoration beside a word."""
    name = f'role="img" aria-label="{escape(label)}"' if label else 'aria-hidden="true"'
    return safe(f'<svg class="m" {name}><use href="#{kind}"/></svg>')


@register.simple_tag
def unknown() -> SafeString:
    """Nobody says: never zero, never "no"."""
    return safe(f'<span class="unk"><b>{gettext("unknown")}</b></span>')


NOT_APPLICABLE = '<span class="na">—</span>'


def evidence_of(row: Row, *names: str) -> Mapping[str, Any]:
    """What is said of the first attribute of a row of which a value is known."""
    evidence = row.get("evidence") or {}
    said = (evidence[name] for name in names if name in evidence)
    return next((each for each in said if each.get("value") is not None), {})


def marked(text: str, said: Mapping[str, Any], *, after: bool = False) -> str:
    """A value with the mark of its basis: before a number, after a word; documented has none."""
    kind = said.get("basis")
    if kind is None or kind == "documented":
        return text
    title = escape(str(said.get("source", "")))
    sign = mark(kind, wording.basis(kind))
    if after:
        return f'<span class="w" title="{title}">{text}{sign}</span>'
    return f'<span class="{"est" if kind == "derived" else ""}" title="{title}">{sign}{text}</span>'


def disputed_numbers(said: Mapping[str, Any]) -> list[float]:
    """The values that sources of the strongest basis give, the lower first."""
    if not said.get("disputed"):
        return []
    claims: Iterable[Mapping[str, Any]] = said.get("claims") or ()
    peers = [
        c["value"] for c in claims if c.get("basis") == said.get("basis") and not c.get("scope")
    ]
    return sorted({float(value) for value in (*peers, said.get("value")) if is_number(value)})


def is_number(value: object) -> bool:
    """Whether a claim's value is a number, or the text of one."""
    return value is not None and str(value).replace(".", "", 1).isdigit()


def either(values: Iterable[Any]) -> str:
    """Values that sources disagree on: all of them, the lower first."""
    sign = mark("disputed", gettext("disputed"))
    title = gettext("Sources disagree; the model uses the lower value")
    return f'<span class="dis" title="{title}">{f" {sign}".join(number(v) for v in values)}</span>'


# --- The cells of the offers table ------------------------------------------------------------


@register.filter
def gpu_cell(row: Row) -> SafeString:
    """Count and SKU; the memory of one beneath."""
    count = number(row["gpu_count"])
    if row["gpu"]:
        name = escape(wording.gpu(row["gpu"]))
        said = f"{count} × {name}" if count else name
    elif row["gpu_candidates"]:
        either_of = gettext(" or ").join(wording.gpu(slug) for slug in row["gpu_candidates"][:3])
        said = f"{count} × {escape(either_of)}"
    else:
        said = f"{count} × {unknown()}" if count else unknown()
    memory = f"{number(row['gpu_memory_gb'])} GB" if row["gpu_memory_gb"] else ""
    return safe(f'<span class="nw">{said}</span><small>{memory}</small>')


@register.filter
def price_cell(row: Row) -> SafeString:
    """The price of a GPU-hour and where; a dated one with the clock and its age."""
    place = escape(row["region"] or "")
    if (more := row.get("regions", 1) - 1) > 0:
        place += " " + ngettext("+%(n)d region", "+%(n)d regions", more) % {"n": more}
    if row["price_model"] != "on_demand":
        place = ", ".join(filter(None, (wording.word("price_model", row["price_model"]), place)))
    if row["usd_per_gpu_hour"] is None:
        return safe(f'<span class="na">{_no_price(row)}</span><small>{place}</small>')
    amount = dollars(row["usd_per_gpu_hour"])
    unit = gettext(" $/GPU-h")
    if not (row["stale"] or row["outdated"]):
        return safe(f'<b class="best" data-u="{unit}">{amount}</b><small>{place}</small>')
    seen = gettext("price seen %(day)s") % {"day": day_of(row["collected_at"])}
    weight = "dated" if row["outdated"] else "best"
    return safe(
        f'<small class="old">{mark("stale", seen)}{since(row["collected_at"])}</small>'
        f'<b class="{weight}" data-u="{unit}">{amount}</b><small>{place}</small>'
    )


def _no_price(row: Row) -> str:
    if row["native_amount"] is not None:
        return f"{dollars(row['native_amount'])} {escape(row['native_currency'] or '')}"
    if row["price_model"] == "quote":
        return gettext("by quote")
    return gettext("not published")


@register.filter
def domain_cell(row: Row) -> SafeString:
    """GPUs that reach each other over NVLink; another vendor's links beneath."""
    size, said = row["nvlink_domain_gpus"], evidence_of(row, "scale_up_domain_gpus", "scale_up")
    if size is None:
        return unknown()
    wider = row["scale_up_domain_gpus"]
    html = marked(number(size), said)
    if wider and wider > size:
        kind = escape(wording.word("scale_up", row["scale_up"] or ""))
        html += f"<small>{number(wider)} · {kind}</small>"
    elif guaranteed := row.get("scale_up_domain_guaranteed_gpus"):
        html += f"<small>{gettext('%(n)d guaranteed') % {'n': guaranteed}}</small>"
    return safe(html)


@register.filter
def inside_cell(row: Row) -> SafeString:
    """GB/s of one GPU inside its domain, one way."""
    said = evidence_of(row, "scale_up_gbytes_per_s")
    if values := disputed_numbers(said):
        return safe(either(values))
    if row["scale_up_gbytes_per_s"] is not None:
        return safe(marked(number(row["scale_up_gbytes_per_s"]), said))
    return safe(NOT_APPLICABLE) if row["scale_up"] in UNLINKED else unknown()


@register.filter
def fabric_cell(row: Row) -> SafeString:
    """The technology; NICs × rate beneath."""
    if row["fabric"] is None:
        return unknown()
    name = wording.word("fabric", row["fabric"])
    if (generation := row["fabric_generation"] or "") and not generation.startswith(name):
        name = f"{name} {generation}"
    html = marked(escape(generation if generation.startswith(name) else name),
                  evidence_of(row, "fabric"), after=True)  # fmt: skip
    if row["fabric"] == "ethernet":
        html += f"<small>{gettext('no RDMA')}</small>"
    elif row["fabric_nics"] and row["fabric"] != "none":
        html += f"<small>{number(row['fabric_nics'])} × {_nic_rate(row)}</small>"
    return safe(f'<span class="nw">{html}</span>')


def _nic_rate(row: Row) -> str:
    if disputed_numbers(evidence_of(row, "fabric_gbits_per_s_per_nic")):
        return mark("disputed", gettext("disputed"))
    rate = row["fabric_gbits_per_s_per_nic"]
    return gettext("unknown rate") if rate is None else f"{number(rate)} Gb/s"


def fabric_per_gpu(row: Row) -> list[float]:
    """Gb/s per GPU that the sources give: none where unknown, two or more where disputed."""
    count = float(row["gpu_count"] or 0)
    whole = evidence_of(row, "fabric_gbits_per_s")
    if count and (totals := disputed_numbers(whole)):
        return [total / count for total in totals]
    rates = disputed_numbers(evidence_of(row, "fabric_gbits_per_s_per_nic"))
    if count and rates and row["fabric_nics"] and whole.get("basis") == "derived":
        return [rate * row["fabric_nics"] / count for rate in rates]
    known = row["fabric_gbits_per_s_per_gpu"]
    return [] if known is None else [float(known)]


@register.filter
def per_gpu_cell(row: Row) -> SafeString:
    """Gb/s of fabric for one GPU, one way, guaranteed."""
    values = fabric_per_gpu(row)
    if len(values) > 1:
        return safe(either(values))
    if values:
        return safe(marked(number(values[0]), evidence_of(row, "fabric_gbits_per_s")))
    return safe(NOT_APPLICABLE) if row["fabric"] == "none" else unknown()


@register.filter
def cliff_text(row: Row) -> str:
    """9×, or 9–18× where the sources disagree; empty where either side is unknown."""
    inside = row["scale_up_gbytes_per_s"]
    ratios = [8 * float(inside) / rate for rate in fabric_per_gpu(row) if rate] if inside else []
    if not ratios:
        return ""
    low, high = round(min(ratios)), round(max(ratios))
    return f"{low}×" if low == high else f"{low}–{high}×"


@register.filter
def cliff_cell(row: Row) -> SafeString:
    """The ratio, and both bandwidths as bars on one scale for all rows: blue inside, orange out."""
    inside = row["scale_up_gbytes_per_s"]
    if inside is None:
        return safe(NOT_APPLICABLE) if row["scale_up"] in UNLINKED else unknown()
    rates = [rate / 8 for rate in fabric_per_gpu(row)]
    label = gettext("NVLink %(inside)s GB/s per GPU, fabric %(between)s") % {
        "inside": number(inside),
        "between": f"{' ≠ '.join(map(number, rates))} GB/s" if rates else gettext("unknown"),
    }
    return safe(
        f'<span class="cl"><b>{cliff_text(row)}</b>'
        f'<svg width="{BAR}" height="21" role="img" aria-label="{label}">'
        f'<rect y="2" width="{_bar(inside):.1f}" height="7" rx="1" class="fi"/>'
        f"{_fabric_bar(rates, row['fabric'])}</svg></span>"
    )


def _fabric_bar(rates: list[float], fabric: str | None) -> str:
    if not rates:
        if fabric == "none":
            return ""
        return f'<rect x=".5" y="12.5" width="{BAR - 1}" height="6" rx="1" class="fn se dash"/>'
    low, high = _bar(rates[0]), _bar(rates[-1])
    bar = f'<rect y="12" width="{max(low, 1.5):.1f}" height="7" rx="1" class="fo"/>'
    if high > low:
        bar += (
            f'<rect x="{low:.1f}" y="12.5" width="{high - low:.1f}" height="6" class="fn so dash"/>'
        )
    return bar


def _bar(gbytes_per_s: float) -> float:
    return min(float(gbytes_per_s) / LINKED_BARS_GBYTES_PER_S, 1) * BAR


@register.filter
def rdma_cell(row: Row) -> SafeString:
    """yes, no, conditional or unknown: whether NICs reach GPU memory over RDMA."""
    value, said = row["gpudirect_rdma"], evidence_of(row, "gpudirect_rdma")
    if value is None:
        return unknown()
    html = marked(escape(wording.word("gpudirect_rdma", value)), said, after=True)
    if said.get("disputed"):
        html = f'<span class="dis">{html}</span>'
    return safe(html)


@register.filter
def checked_cell(row: Row) -> SafeString:
    """When the oldest interconnect fact of the row was checked."""
    return checked(row["checked"])


# --- Words ------------------------------------------------------------------------------------


@register.simple_tag
def word(field: str, value: object) -> str:
    """A value of a closed list as people write it."""
    return wording.word(field, value)


@register.filter
def gpu_name(slug: str | None) -> str:
    """A GPU's slug as people write it, with its memory."""
    return wording.gpu(slug, memory=True) if slug else ""


# --- Links and controls -----------------------------------------------------------------------


@register.filter
def instance_href(row: Row) -> str:
    """The page of a row's instance type. Built by hand: `reverse` 50 times costs a millisecond."""
    return f"/instances/{quote(row['provider'])}/{quote(row['instance_type'])}/"


@register.simple_tag
def facet_options(facet: Facet) -> SafeString:
    """The boxes of one facet, the unknown last and apart."""
    kind = "radio" if facet.one else "checkbox"
    boxes = [_option(option, kind, escape(option.text)) for option in facet.options]
    if facet.unknown:
        boxes.append(_option(facet.unknown, "checkbox", unknown(), " sep"))
    return safe("".join(boxes))


def _option(option: Option, kind: str, text: str, apart: str = "") -> str:
    ticked = " checked" if option.chosen else ""
    count = "" if option.count is None else number(option.count)
    return (
        f'<label class="opt{apart}"><input type="{kind}" name="{option.parameter}" '
        f'id="{option.parameter}-{escape(option.value)}" value="{escape(option.value)}"{ticked}> '
        f"{text} <span>{count}</span></label>"
    )


# --- Pages other than the offers --------------------------------------------------------------


@register.simple_tag
def word_basis(kind: str) -> str:
    """How a value is known, as a word."""
    return wording.basis(kind)


@register.filter
def gpu_short(slug: str | None) -> str:
    """H100 for `h100-sxm5-80gb`: where the row says the rest."""
    return wording.gpu(slug).split(" SXM")[0].removesuffix(" PCIe") if slug else gettext("GPU")


@register.filter
def fabric_word(row: Row) -> SafeString:
    """The technology alone."""
    if row["fabric"] is None:
        return unknown()
    name, generation = wording.word("fabric", row["fabric"]), row["fabric_generation"] or ""
    return safe(escape(generation if generation.startswith(name) else f"{name} {generation}"))


@register.filter
def plain_price(offer: Row | None) -> SafeString:
    """A price in a column of its own: its heading has the unit, another column its age."""
    if offer is None:
        return safe("")
    if offer["usd_per_gpu_hour"] is None:
        return safe(f'<span class="na">{_no_price(offer)}</span>')
    return safe(dollars(offer["usd_per_gpu_hour"]))


@register.filter
def whole(value: Any) -> str:
    """No decimals."""
    return "" if value is None else f"{float(value):,.0f}"


@register.filter
def interval(span: timedelta) -> str:
    """6 h, 3 d."""
    hours = span.total_seconds() / 3600
    if hours < 48 and hours % 24:
        return gettext("%(n)s h") % {"n": number(hours)}
    return gettext("%(n)s d") % {"n": number(hours / 24)}


@register.filter
def meter(share: float) -> SafeString:
    """A share of one as a bar; its number stands beside it."""
    return charts.meter(share)


@register.filter
def source_link(text: str | None) -> SafeString:
    """A source as a link where it leads anywhere."""
    name, href = wording.source(text)
    return safe(
        f'<a class="src" href="{escape(href)}">{escape(name)}</a>' if href else escape(name)
    )
