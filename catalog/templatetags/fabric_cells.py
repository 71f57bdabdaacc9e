"""The cells of a row of the fabrics table. What comes from outside goes through `escape` first."""

from html import escape
from typing import Any

from django import template
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from catalog import phrases, wording
from catalog.currency import Money
from catalog.templatetags.cells import DOLLARS, instance_href, price_cell
from catalog.templatetags.quantities import (
    Row,
    disputed_numbers,
    either,
    evidence_of,
    marked,
    number,
    safe,
    unknown,
)

register = template.Library()
NAMED_REGIONS = 3


@register.filter
def fabric_name(row: Row) -> str:
    """InfiniBand NDR; a generation that says its technology is not said twice."""
    return wording.fabric(row["technology"], row["generation"])


@register.filter
def fabric_price(row: Row, money: Money = DOLLARS) -> SafeString:
    """The lowest on-demand price of a GPU-hour on it, where, and how old."""
    price = row["lowest_on_demand"]
    if price is None:
        return safe(f'<span class="na">{gettext("not published")}</span>')
    amount = money.amount(price["usd_per_gpu_hour"], price)
    shown = {**price, f"{money.prefix}_per_gpu_hour": amount, "price_model": "on_demand"}
    return price_cell(shown, money)


@register.filter
def fabric_types(row: Row, money: Money = DOLLARS) -> SafeString:
    """A link a type, with its GPUs."""
    return safe("".join(_type(row, kind, money) for kind in row["instance_types"]))


def _type(row: Row, kind: dict[str, Any], money: Money) -> str:
    href = instance_href({**kind, "provider": row["provider"]}, money)
    gpu = escape(wording.gpu(kind["gpu"], memory=True)) if kind["gpu"] else str(unknown())
    count = f"{number(kind['gpu_count'])} × " if kind["gpu_count"] else ""
    return (
        f'<a class="nm" href="{escape(href)}">{escape(kind["instance_type"])}</a>'
        f"<small>{count}{gpu}</small>"
    )


@register.filter
def fabric_speed(row: Row) -> SafeString:
    """Gb/s of one GPU, one way."""
    said = evidence_of(row, "fabric_gbits_per_s")
    count = row["instance_types"][0]["gpu_count"] if row["instance_types"] else None
    if count and len(values := disputed_numbers(said)) > 1:
        return safe(either([value / count for value in values]))
    speed = row["gbits_per_s_per_gpu"]
    return unknown() if speed is None else safe(marked(number(speed), said))


@register.filter
def fabric_size(row: Row) -> SafeString:
    """The largest cluster in GPUs; beneath it the largest that somebody measured."""
    most, ran = row["max_gpus"], row["demonstrated_gpus"]
    said = evidence_of(row, "max_gpus_on_one_fabric")
    size = unknown() if most is None else marked(number(most), said)
    run = f"<small>{gettext('run with %(n)s') % {'n': number(ran)}}</small>" if ran else ""
    return safe(f"{size}{run}")


@register.filter
def fabric_nodes(row: Row) -> SafeString:
    """Instances that hold the GPUs asked for, and how racks take them."""
    if row["nodes"] is None:
        return unknown()
    kind, gangs = row["instance_types"][0], row["gangs"]
    racks = " + ".join(map(number, gangs or ()))
    if not gangs and (kind["scale_up_domain_gpus"] or 0) > kind["gpu_count"]:
        racks = gettext("unknown")  # a rack of several trays, of which nobody guarantees any number
    beneath = f"<small>{gettext('racks')}: {racks}</small>" if racks else ""
    return safe(f"{number(row['nodes'])}{beneath}")


@register.filter
def fabric_how(row: Row) -> SafeString:
    """What puts instances on it, and whether that can be had without asking."""
    how = escape(phrases.said(row["how"])) if row["how"] else str(unknown())
    ask = wording.word("multi_node", row["multi_node"]) if row["multi_node"] else ""
    return safe(f"{how}<small>{escape(ask)}</small>")


@register.filter
def fabric_regions(row: Row) -> SafeString:
    """Where its types are on offer: a few named, many behind a click."""
    if row["region"]:
        return safe(escape(row["region"]))
    regions = [escape(region) for region in row["regions"]]
    if not regions:
        return unknown()
    listed = gettext(", ").join(regions)
    if len(regions) <= NAMED_REGIONS:
        return safe(listed)
    count = ngettext("%(n)d region", "%(n)d regions", len(regions)) % {"n": len(regions)}
    return safe(f"<details><summary>{count}</summary>{listed}</details>")
