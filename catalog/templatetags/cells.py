"""The cells of a row: of the offers table, and what the other pages show of an offer.

They write strings themselves, since a page has some 500 cells and may cost 8 ms; whatever comes
from outside goes through `escape` first.
"""

from collections.abc import Callable, Mapping
from html import escape
from urllib.parse import quote

from django import template
from django.utils.safestring import SafeString

from catalog import wording
from catalog.applies import arises
from catalog.charts import small
from catalog.currency import Money
from catalog.templatetags.quantities import (
    NOT_APPLICABLE,
    Row,
    checked,
    day_of,
    disputed_numbers,
    dollars,
    either,
    evidence_of,
    mark,
    marked,
    named,
    number,
    numbered,
    old,
    own_price,
    safe,
    since,
    source_link,
    unknown,
)
from catalog.wording import gettext, ngettext, once_a_language

register = template.Library()

DOLLARS = Money()
LINKED_BARS_GBYTES_PER_S = 900  # the cliff's two bars: one scale for all rows
BAR = 72  # [px]


def nobody_says(row: Row, field: str) -> SafeString:
    """What stands for a null: a dash where the field has no place in the row, or else unknown."""
    return unknown() if arises(field, row) else safe(NOT_APPLICABLE)


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
def price_cell(row: Row, money: Money = DOLLARS) -> SafeString:
    """The price of a GPU-hour and where; a dated one with the clock and its age."""
    place = str(named(row["region"]))
    if (more := row.get("regions", 1) - 1) > 0:
        place += " " + ngettext("+%(n)d region", "+%(n)d regions", more) % {"n": more}
    if row["price_model"] != "on_demand":
        place = gettext(", ").join(
            filter(None, (wording.word("price_model", row["price_model"]), place))
        )
    if (least := row.get("minimum_hours")) and not row["price_model"].startswith("reserved"):
        place += gettext(", ") * bool(place) + gettext("%(hours)s h at least") % {
            "hours": number(least)
        }
    if row["usd_per_gpu_hour"] is None:
        return safe(f'<span class="na">{_no_price(row)}</span><small>{place}</small>')
    amount = dollars(money.of_gpu_hour(row), money.code)
    unit = _unit(money)
    if not (row["stale"] or row["outdated"]):
        return safe(f'<b class="best" data-u="{unit}">{amount}</b><small>{place}</small>')
    seen = gettext("price seen %(day)s") % {"day": day_of(row["collected_at"])}
    weight = "dated" if row["outdated"] else "best"
    return safe(
        f'<small class="old">{mark("stale", seen)}{since(row["collected_at"])}</small>'
        f'<b class="{weight}" data-u="{unit}">{amount}</b><small>{place}</small>'
    )


@once_a_language
def _unit(money: Money) -> str:
    return " " + money.heading(gettext(" $/GPU-h")).strip().replace(" ", "\N{NO-BREAK SPACE}")


def _no_price(row: Row) -> str:
    if row["native_amount"] is not None:
        return own_price(row)
    if row["price_model"] == "quote":
        return gettext("by quote")
    return gettext("not published")


@register.filter
def domain_cell(row: Row) -> SafeString:
    """GPUs that reach each other over NVLink; another vendor's links beneath."""
    size, wider = row["nvlink_domain_gpus"], row["scale_up_domain_gpus"]
    if size is None:
        return unknown()
    said = evidence_of(row, *(["scale_up_domain_gpus"] if size == wider else []), "scale_up")
    html = numbered(size, said)
    if wider and wider > size:
        kind = escape(wording.word("scale_up", row["scale_up"] or ""))
        html += f"<small>{domain_text(row)} · {kind}</small>"
    elif guaranteed := row.get("scale_up_domain_guaranteed_gpus"):
        html += f"<small>{gettext('%(n)d guaranteed') % {'n': guaranteed}}</small>"
    return safe(html)


def domain_text(row: Row, *, instance: bool = False) -> str:
    """GPUs of the domain of links, 4 ≠ 8 where sources disagree; empty where nobody says.

    Of the domain and the whole `instance`: beyond so many a job crosses the fabric, for a domain
    within an instance (a bridged pair of eight) is left over the host first.
    """
    size = row["scale_up_domain_gpus"]
    if size is None:
        return ""
    sizes = disputed_numbers(evidence_of(row, "scale_up_domain_gpus")) or [float(size)]
    least = float(row["gpu_count"] or 0) if instance else 0
    return " ≠ ".join(map(number, sorted({max(each, least) for each in sizes})))


@register.filter
def inside_cell(row: Row) -> SafeString:
    """GB/s of one GPU inside its domain, one way."""
    said = evidence_of(row, "scale_up_gbytes_per_s")
    if row["scale_up_gbytes_per_s"] is not None:
        return safe(numbered(row["scale_up_gbytes_per_s"], said))
    return nobody_says(row, "scale_up_gbytes_per_s")


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
    return nobody_says(row, "fabric_gbits_per_s_per_gpu")


@register.filter
def cliff_text(row: Row) -> str:
    """9×, 2,304×, or 9–18× where the sources disagree; empty where either side is unknown."""
    inside = row["scale_up_gbytes_per_s"]
    ratios = [8 * float(inside) / rate for rate in fabric_per_gpu(row) if rate] if inside else []
    if not ratios:
        return ""
    low, high = round(min(ratios)), round(max(ratios))
    return f"{low:,}×" if low == high else f"{low:,}–{high:,}×"


@register.filter
def cliff_cell(row: Row) -> SafeString:
    """The ratio, and both bandwidths as bars on one scale for all rows: blue inside, orange out."""
    inside = row["scale_up_gbytes_per_s"]
    if inside is None:
        return nobody_says(row, "cliff")
    rates = [rate / 8 for rate in fabric_per_gpu(row)]
    label = gettext("links %(inside)s GB/s per GPU, fabric %(between)s") % {
        "inside": number(inside),
        "between": f"{' ≠ '.join(map(number, rates))} GB/s"
        if rates
        else wording.word("fabric", "none")
        if row["fabric"] == "none"
        else gettext("unknown"),
    }
    return safe(
        f'<span class="cl"><b>{cliff_text(row)}</b>'
        f'{small(BAR, 21)} role="img" aria-label="{label}">'
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
        return nobody_says(row, "gpudirect_rdma")
    return safe(marked(escape(wording.word("gpudirect_rdma", value)), said, after=True))


@register.filter
def checked_cell(row: Row) -> SafeString:
    """When the oldest interconnect fact of the row was checked."""
    return checked(row["checked"])


def _word(field: str) -> Callable[[Row], str]:
    """Maker of a cell that holds a word of a closed list, with the mark of its basis after it."""

    def cell(row: Row) -> str:
        value = row[field]
        if value is None:
            return nobody_says(row, field)
        if isinstance(value, bool):
            value = "yes" if value else "no"
        return marked(escape(wording.word(field, value)), evidence_of(row, field), after=True)

    return cell


def _figure(field: str) -> Callable[[Row], str]:
    """Maker of a cell that holds a number."""

    def cell(row: Row) -> str:
        value = row[field]
        if value is None:
            return nobody_says(row, field)
        return numbered(value, evidence_of(row, field))

    return cell


_scale_up = _word("scale_up")


def _joined_cell(row: Row) -> str:
    generation = row["nvlink_generation"]
    return _scale_up(row) + (f"<small>NVLink {generation}</small>" if generation else "")


def _hour_cell(row: Row, money: Money = DOLLARS) -> str:
    price = row[f"{money.prefix}_per_hour"]
    return (
        f'<span class="na">{_no_price(row)}</span>' if price is None else dollars(price, money.code)
    )


def _seen_cell(row: Row) -> str:
    """A price that is not published was seen nowhere, and has no source."""
    if row["native_amount"] is None:
        return NOT_APPLICABLE
    dated = row["stale"] or row["outdated"]
    return old(row["collected_at"]) if dated else since(row["collected_at"])


def _source_cell(row: Row) -> str:
    return NOT_APPLICABLE if row["native_amount"] is None else source_link(row["source_url"])


CELLS: Mapping[str, Callable[[Row], str]] = {
    "gpu": gpu_cell,
    "usd_per_gpu_hour": price_cell,
    "usd_per_hour": _hour_cell,
    "available": _word("available"),
    "domain_gpu_memory_gb": _figure("domain_gpu_memory_gb"),
    "scale_up": _joined_cell,
    "nvlink_domain_gpus": domain_cell,
    "scale_up_gbytes_per_s": inside_cell,
    "fabric": fabric_cell,
    "fabric_gbits_per_s_per_gpu": per_gpu_cell,
    "cliff": cliff_cell,
    "gpudirect_rdma": rdma_cell,
    "sharp": _word("sharp"),
    "max_gpus_on_one_fabric": _figure("max_gpus_on_one_fabric"),
    "multi_node": _word("multi_node"),
    "frontend_gbits_per_s": _figure("frontend_gbits_per_s"),
    "vcpus": _figure("vcpus"),
    "ram_gb": _figure("ram_gb"),
    "checked": checked_cell,
    "collected_at": _seen_cell,
    "source_url": _source_cell,
}
PRICED = {"usd_per_gpu_hour": price_cell, "usd_per_hour": _hour_cell}  # in the money of the page


# Columns whose cells say how an instance is built, and all that these look at: not at the offer.
OF_HARDWARE = frozenset({
    "gpu", "domain_gpu_memory_gb", "scale_up", "nvlink_domain_gpus", "scale_up_gbytes_per_s",
    "fabric", "fabric_gbits_per_s_per_gpu", "cliff", "gpudirect_rdma", "sharp",
    "max_gpus_on_one_fabric", "multi_node", "frontend_gbits_per_s", "vcpus", "ram_gb", "checked",
})  # fmt: skip
HARDWARE = (
    "gpu", "gpu_candidates", "gpu_count", "gpu_memory_gb", "vcpus", "ram_gb",
    "scale_up", "nvlink_generation", "scale_up_gbytes_per_s", "scale_up_domain_gpus",
    "scale_up_domain_guaranteed_gpus", "nvlink_domain_gpus", "domain_gpu_memory_gb", "fabric",
    "fabric_generation", "fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s_per_gpu",
    "frontend_gbits_per_s", "gpudirect_rdma", "sharp", "multi_node", "max_gpus_on_one_fabric",
    "evidence", "checked",
)  # fmt: skip


# --- What other pages show of an offer ---------------------------------------------------------


@register.filter
def instance_href(row: Row, money: Money = DOLLARS) -> str:
    """The page of a row's instance type. Built by hand: `reverse` 50 times costs a millisecond."""
    name = f"{quote(row['provider'])}/{quote(row['instance_type'])}"
    return f"/instances/{name}/{money.query}"


@register.filter
def gpu_short(slug: str | None) -> str:
    """H100 for `h100-sxm5-80gb`: where the row says the rest."""
    return wording.gpu(slug).split(" SXM")[0].removesuffix(" PCIe") if slug else gettext("GPU")


@register.filter
def fabric_word(row: Row) -> SafeString:
    """The technology alone."""
    if row["fabric"] is None:
        return unknown()
    return safe(escape(wording.fabric(row["fabric"], row["fabric_generation"])))


@register.filter
def plain_price(offer: Row | None, money: Money = DOLLARS) -> SafeString:
    """A price in a column of its own: its heading has the unit, another column its age."""
    if offer is None:
        return safe("")
    if offer["usd_per_gpu_hour"] is None:
        return safe(f'<span class="na">{_no_price(offer)}</span>')
    return safe(
        dollars(money.amount(offer["usd_per_gpu_hour"], offer), money.code) + terms(offer, money)
    )


@register.filter
def hour_price(offer: Row, money: Money = DOLLARS) -> str:
    """What the whole instance costs an hour; its heading has the unit."""
    return dollars(money.amount(offer["usd_per_hour"], offer), money.code)


@register.filter
def terms(offer: Row, money: Money = DOLLARS) -> SafeString:
    """Beneath a price: the least that is billed, and of a converted one its rate with the day."""
    said = []
    if hours := offer["minimum_hours"]:
        least = {"hours": number(hours)}
        if offer["usd_per_hour"] is not None:
            least["usd"] = dollars(
                float(money.amount(offer["usd_per_hour"], offer)) * hours, money.code
            )
            said.append(money.heading(gettext("%(hours)s h at least: $%(usd)s")) % least)
        else:
            said.append(gettext("%(hours)s h at least") % least)
    if offer["usd_rate_date"] is not None and offer["native_currency"] != money.code:
        rate = {"native": own_price(offer), "day": day_of(offer["usd_rate_date"])}
        said.append(gettext("%(native)s at the rate of %(day)s") % rate)
    return safe("".join(f"<small>{line}</small>" for line in said))
