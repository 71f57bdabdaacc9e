"""How the GPUs of one instance type are joined, as a drawing: from its links down to its fabric.

Line width is to scale. Blue is inside the domain, orange between instances, and nothing else is;
what nobody says is dashed. `charts.Drawing` is the paper.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from catalog import wording
from catalog.applies import UNLINKED
from catalog.charts import WIDTH, Drawing, text_width
from catalog.templatetags.cells import domain_text, fabric_per_gpu
from catalog.templatetags.quantities import number

MESHES = {"nvlink_mesh", "infinity_fabric_mesh", "gaudi_mesh"}
GBYTES_PER_UNIT = 50  # width of a line: one unit for 50 GB/s
# The hybrid cube mesh of eight V100: the edges of a cube and the diagonals of two of its faces, of
# which some are doubled (https://www.iitr.ac.in/dgx, read 2026-11-30; `nvidia-smi topo -m` prints
# which). Each GPU has six links, to four others; GPUs 4 to 7 are joined as 0 to 3 are.
QUAD = {(0, 1): 1, (0, 2): 1, (0, 3): 2, (1, 2): 2, (1, 3): 1, (2, 3): 2}
CUBE = {
    **QUAD,
    **{(a + 4, b + 4): links for (a, b), links in QUAD.items()},
    (0, 4): 2, (1, 5): 2, (2, 6): 1, (3, 7): 1,
}  # fmt: skip
V100_LINKS = 6
ALIKE = 0.02  # between figures that were rounded
LEFT, RIGHT = 18, WIDTH - 18
MOST_GPUS = 16  # drawn one by one
HATCH = (
    '<pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><path d="M0 0V6" class="se"/></pattern>'
)


@dataclass(frozen=True, slots=True)
class Links:
    """What a topology shows of one instance type."""

    gpus: int
    label: str  # of a fraction of a GPU
    scale_up: str | None
    domain: int | None
    domain_text: str  # 4 ≠ 8 where sources disagree
    inside: float | None  # [GB/s] per GPU, one way
    fabric: str | None
    fabric_name: str
    nics: int | None
    rates: Sequence[float]  # [Gb/s] of one NIC: two or more where disputed
    fabric_gbits_per_s: float | None  # of the instance
    largest: int | None
    nvlink_generation: int | None
    form: str | None
    pair: float | None  # [GB/s] between two GPUs, one way

    @classmethod
    def of(cls, kind: Mapping[str, Any]) -> "Links":
        """From the columns of a type."""
        count = float(kind["gpu_count"] or 1)
        fabric = kind["fabric"]
        generation = kind["fabric_generation"]
        name = wording.fabric(fabric, generation) if fabric else gettext("fabric unknown")
        nics, rate = kind["fabric_nics"], kind["fabric_gbits_per_s_per_nic"]
        rates = [float(rate)] if rate else []
        if nics and len(shares := fabric_per_gpu(kind)) > 1:
            rates = [share * count / nics for share in shares]
        return cls(
            gpus=max(1, math.ceil(count)),
            label="" if count >= 1 else number(count),
            scale_up=kind["scale_up"],
            domain=kind["scale_up_domain_gpus"],
            domain_text=domain_text(kind),
            inside=kind["scale_up_gbytes_per_s"],
            fabric=fabric,
            fabric_name=name,
            nics=nics,
            rates=rates,
            fabric_gbits_per_s=kind["fabric_gbits_per_s"],
            largest=kind["max_gpus_on_one_fabric"],
            nvlink_generation=kind["nvlink_generation"],
            form=kind.get("form_factor"),
            pair=kind.get("scale_up_pair_gbytes_per_s"),
        )

    @property
    def drawn(self) -> int:
        """GPUs that are drawn."""
        return min(self.gpus, MOST_GPUS)

    @property
    def gpus_text(self) -> str:
        """8 GPUs; 0.25 GPU."""
        return gpus_text(self.gpus, self.label)

    @property
    def rack(self) -> bool:
        """Whether the domain reaches beyond the instance, as in an NVL72."""
        return self.domain is not None and self.domain > self.gpus and self.scale_up == "nvswitch"

    @property
    def link_width(self) -> float:
        """Of a GPU's line into the domain; a thin one where its speed is unknown."""
        return float(self.inside) / GBYTES_PER_UNIT if self.inside else 2

    @property
    def wiring(self) -> Mapping[tuple[int, int], float]:
        """Of each linked pair of a mesh its part of a GPU's links; empty where nobody says which.

        Each is linked to each where the rate of a pair, once for each peer, is that of the GPU.
        """
        if (self.form, self.gpus, self.nvlink_generation) == ("sxm2", 8, 2):
            return {pair: links / V100_LINKS for pair, links in CUBE.items()}
        peers = self.gpus - 1
        if not (self.pair and self.inside and self.domain == self.gpus <= MOST_GPUS and peers):
            return {}
        if abs(float(self.pair) * peers / float(self.inside) - 1) > ALIKE:
            return {}
        return dict.fromkeys(combinations(range(self.gpus), 2), 1 / peers)

    def middle(self, index: int, of: int) -> float:
        """The middle of one of several equal slots."""
        return LEFT + (RIGHT - LEFT) * (index + 0.5) / of


def gpus_text(count: int, part: str = "") -> str:
    """So many GPUs, or a part of one."""
    return ngettext("%(n)s GPU", "%(n)s GPUs", count) % {"n": part or f"{count:,}"}


def topology(kind: Mapping[str, Any]) -> SafeString:
    """One instance from its scale-up links down to its fabric."""
    links, drawing = Links.of(kind), Drawing()
    shift = 74 if links.rack else 0
    _frame(drawing, links, shift)
    _scale_up(drawing, links, shift)
    _gpus(drawing, links, shift)
    _nics(drawing, links, shift)
    _fabric(drawing, links, shift)
    return drawing.svg(300 + shift, "topo", topology_text(kind))


def topology_text(kind: Mapping[str, Any]) -> str:
    """What the drawing shows, as a sentence or two."""
    links = Links.of(kind)
    joined = (
        wording.word("scale_up", links.scale_up) if links.scale_up else gettext("unknown links")
    )
    inside = f"{number(links.inside)} GB/s" if links.inside else gettext("an unknown rate")
    count = {"gpus": links.label or links.gpus}
    first = ngettext(
        "%(gpus)s GPU, joined by %(joined)s at %(inside)s, one way.",
        "%(gpus)s GPUs, joined by %(joined)s at %(inside)s each, one way.", links.gpus,
    ) % {**count, "joined": joined, "inside": inside}  # fmt: skip
    if links.scale_up in UNLINKED:
        first = (
            ngettext(
                "%(gpus)s GPU, without links.",
                "%(gpus)s GPUs without links between them.",
                links.gpus,
            )
            % count
        )
    if links.scale_up in MESHES and not links.wiring:
        first += f" {gettext('Which of them are linked is unknown.')}"
    if links.fabric == "none":
        return f"{first} {gettext('No fabric joins instances.')}"
    second = gettext("Fabric: %(fabric)s, %(nics)s.") % {
        "fabric": links.fabric_name, "nics": _nics_text(links, fabric_per_gpu(kind)),
    }  # fmt: skip
    return f"{first} {second}"


def _nics_text(links: Links, per_gpu: Sequence[float]) -> str:
    """The NICs and their rate; the rate of one GPU where only that is known."""
    rates = " ≠ ".join(map(number, links.rates))
    if links.nics and rates:
        said = ngettext("%(n)s NIC of %(rates)s Gb/s", "%(n)s NICs of %(rates)s Gb/s", links.nics)
        return said % {"n": links.nics, "rates": rates}
    if per_gpu:
        return gettext("%(rates)s Gb/s per GPU") % {"rates": " ≠ ".join(map(number, per_gpu))}
    if links.nics:
        said = ngettext("%(n)s NIC of an unknown rate", "%(n)s NICs of an unknown rate", links.nics)
        return said % {"n": links.nics}
    return gettext("rate unknown")


def _frame(drawing: Drawing, links: Links, shift: float) -> None:
    if links.rack:
        size = gettext("Domain: %(n)d GPUs in one rack") % {"n": links.domain or 0}
        drawing.text(10, 15, size, "b")
        _rack(drawing, links)
        return
    drawing.box(0.5, 22.5, 359, 180 + shift, "fc se", 8)
    drawing.text(10, 15, gettext("One instance"), "b")
    nics = gettext("NICs unknown")
    if links.nics is not None:
        nics = ngettext("%(n)s NIC", "%(n)s NICs", links.nics) % {"n": links.nics}
    if links.fabric == "none":
        nics = gettext("no fabric")
    gpus = links.gpus_text
    if links.drawn < links.gpus:
        gpus = gettext("%(drawn)d of %(gpus)s drawn") % {"drawn": links.drawn, "gpus": gpus}
    drawing.text(350, 15, gettext(", ").join((gpus, nics)), "q e")


def _rack(drawing: Drawing, links: Links) -> None:
    """The whole domain as a map, tray by tray, with this instance filled."""
    domain, rows = links.domain or 0, max(1, min(links.gpus, 8))
    step, tall = 330 / math.ceil(domain / rows), 52 / rows
    between = min(6, step * 0.3)
    drawing.box(4, 22, 352, 194, "fis", 8)
    drawing.text(16, 37, gettext("this instance"), "b")
    trays = gettext("%(trays)d trays of %(gpus)d") % {
        "trays": math.ceil(domain / links.gpus), "gpus": links.gpus,
    }  # fmt: skip
    drawing.text(346, 37, trays, "q e")
    for index in range(domain):
        column, row = divmod(index, rows)
        look = "fi" if index < links.gpus else "fc si"
        drawing.box(16 + column * step, 46 + row * tall, step - between, tall - 3, look, 2)
    mine = step * math.ceil(links.gpus / rows)
    drawing.box(12.5, 42.5, mine - between + 7, 56, "fn sk", 3)


def _scale_up(drawing: Drawing, links: Links, shift: float) -> None:
    """What joins the GPUs: a switch, a mesh, bridges, the host's PCIe, or nobody knows."""
    top = 38 + shift
    if links.scale_up is None:
        drawing.shapes.append(HATCH)
        drawing.box(8, 30 + shift, 344, 112, "fn se dash", 6)
        drawing.shapes.append(
            f'<rect x="8" y="{30 + shift}" width="344" height="112" fill="url(#hatch)"/>'
        )
        drawing.box(105, top, 150, 22, "fc se dash", 3)
        drawing.text(180, top + 15, gettext("links unknown"), "b mid")
    elif links.scale_up == "nvswitch":
        _switch(drawing, links, top)
    elif links.scale_up in MESHES:
        _mesh(drawing, links, top)
    elif links.scale_up == "nvlink_bridge":
        _bridges(drawing, links, top)
    elif links.scale_up == "pcie":
        drawing.box(16, top, 328, 22, "fs2 se", 3)
        drawing.text(180, top + 15, gettext("host: PCIe only"), "b mid")
        for index in range(links.drawn):
            x = links.middle(index, links.drawn)
            drawing.line(f"M{x:g} {top + 22:g}V{98 + shift:g}", "se", 1.3)


def _switch(drawing: Drawing, links: Links, top: float) -> None:
    if not links.rack:
        drawing.box(8, top - 8, 344, 112, "fis", 6)
    for index in range(links.drawn):
        x = links.middle(index, links.drawn)
        drawing.line(f"M{x:g} {top + 20:g}V{top + 60:g}", "si", links.link_width)
    drawing.box(16, top, 328, 22, "fi", 3)
    said = ["NVSwitch"]
    if links.nvlink_generation:
        said.append(f"NVLink {links.nvlink_generation}")
    if links.domain and not links.rack:
        said.append(gettext("domain of %(n)s GPUs") % {"n": links.domain_text})
    drawing.text(180, top + 15, " · ".join(said), "ti b mid")


def _mesh(drawing: Drawing, links: Links, top: float) -> None:
    """An arc between two GPUs that are linked; a dashed bar where nobody says which are."""
    drawing.box(8, top - 8, 344, 112, "fis", 6)
    count = links.drawn
    for (first, second), part in links.wiring.items():
        a, b = links.middle(first, count), links.middle(second, count)
        lift = top + 60 - 12 - 34 * (second - first) / max(count - 1, 1)
        drawing.line(f"M{a:g} {top + 60:g}Q{(a + b) / 2:g} {2 * lift - top - 60:g} {b:g} "
                     f"{top + 60:g}", "si", max(links.link_width * part, 0.8))  # fmt: skip
    if not links.wiring:
        for index in range(count):
            x = links.middle(index, count)
            drawing.line(f"M{x:g} {top + 40:g}V{top + 60:g}", "si", links.link_width)
        drawing.box(16, top + 18, 328, 22, "fc si dash", 3)
        drawing.text(180, top + 33, gettext("which GPUs are linked is unknown"), "b mid")
    kind = wording.word("scale_up", links.scale_up or "")
    drawing.text(14, top + 6, kind, "b")
    if links.domain:
        domain = gettext("domain of %(n)s GPUs") % {"n": links.domain_text}
        drawing.text(346, top + 6, domain, "q e")


def _bridges(drawing: Drawing, links: Links, top: float) -> None:
    """Each pair is a domain of its own."""
    count = links.drawn
    slot = (RIGHT - LEFT) / count
    for first in range(0, count - 1, 2):
        a, b = links.middle(first, count), links.middle(first + 1, count)
        drawing.box(a - slot / 2 + 3, top + 22, 2 * slot - 6, 82, "fis", 6)
        drawing.line(f"M{a:g} {top + 60:g}V{top + 44:g}H{b:g}V{top + 60:g}", "si",
                     min(links.link_width, 8))  # fmt: skip
    drawing.text(180, top + 10, gettext("NVLink bridges: pairs of 2 GPUs"), "b mid")


def _gpus(drawing: Drawing, links: Links, shift: float) -> None:
    count, top = links.drawn, 98 + shift
    wide = min(60 if count <= 4 else 36, (RIGHT - LEFT) / count - 4)
    looks = {None: "fc se dash", "pcie": "fc se", "none": "fc se"}
    for index in range(count):
        x = links.middle(index, count)
        drawing.box(x - wide / 2, top, wide, 36, looks.get(links.scale_up, "fc si"))
        if wide >= 30:
            drawing.text(x, top + 14, "GPU", "mid q")
            drawing.text(x, top + 29, links.label or str(index), "mid b")
        else:
            drawing.text(x, top + 22, str(index), "mid b")


NIC_TALL, SIGN_TALL = 28, 12


def _nics(drawing: Drawing, links: Links, shift: float) -> None:
    """As many boxes as NICs, or fewer that each stand for as many."""
    top = 164 + shift
    if links.nics == 0 or (links.fabric == "none" and not links.nics):
        return
    boxes, each = nic_boxes(links)
    known = bool(links.rates)
    slot = (RIGHT - LEFT) / boxes - 4
    said = nic_text(links.rates, each, slot - 2)
    wide = min(max([30, *(text_width(line) + 6 for line in said)]), slot)
    for index in range(boxes):
        x = links.middle(index, boxes)
        drawing.line(f"M{x:g} {134 + shift:g}V{top:g}", "se", 1.3)
        drawing.box(x - wide / 2, top, wide, NIC_TALL, "fc so" if known else "fc se dash")
        first = top + NIC_TALL / 2 + 4 - SIGN_TALL / 2 * (len(said) - 1)
        for row, line in enumerate(said):
            drawing.text(x, first + SIGN_TALL * row, line, "mid")
        if links.fabric != "none":
            look = "so" if known and links.fabric else "se dash"
            width = each * links.rates[0] / 8 / GBYTES_PER_UNIT if known else 1
            below = f"{top + NIC_TALL:g}V{232 + shift:g}"
            drawing.line(f"M{x:g} {below}", look, max(width, 0.7))
            if len(links.rates) > 1:
                drawing.line(f"M{x + 3:g} {below}", "so dash")


def nic_boxes(links: Links) -> tuple[int, int]:
    """Boxes that are drawn, and the NICs that each of them stands for."""
    if not links.nics:
        return links.drawn, 1
    per_gpu, rest = divmod(links.nics, links.gpus)
    if per_gpu and not rest:
        return links.drawn, per_gpu
    boxes = max(n for n in range(1, MOST_GPUS + 1) if links.nics % n == 0)
    return boxes, links.nics // boxes


def nic_text(rates: Sequence[float], each: int, width: float) -> list[str]:
    """What a box says, in one line or two, as there is room; nothing where there is none."""
    numbers = list(map(number, rates)) or ["?"]
    times = f"{each}×" if each > 1 else ""
    *others, last = numbers
    ways = [
        [times + " ≠ ".join(numbers)],
        [times, numbers[0]] if times and not others else [],
        [numbers[0], f"≠ {last}"] if others and not times else [],
    ]  # fmt: skip
    fitting = (lines for lines in ways if lines and max(map(text_width, lines)) <= width)
    return next(fitting, [])


def _fabric(drawing: Drawing, links: Links, shift: float) -> None:
    top = 232 + shift
    if links.fabric == "none":
        drawing.text(180, top + 16, gettext("no fabric between instances"), "b mid")
        return
    known = links.fabric is not None
    said = links.fabric_name
    if known and links.nics and links.rates:
        said += f" · {links.nics} × {' ≠ '.join(map(number, links.rates))} Gb/s"
    elif known and links.fabric_gbits_per_s:
        said += f" · {number(links.fabric_gbits_per_s)} Gb/s"
    elif known:
        said += f" · {gettext('rate unknown')}"
    drawing.box(8.5, top, 343, 24, "fo" if known else "fn se dash", 3)
    drawing.text(180, top + 16, said, "to b mid" if known else "b mid")
    for index in range(3):
        x = 48 + 70 * index
        drawing.line(f"M{x:g} {top + 24:g}v16", "so" if known else "se dash")
        drawing.box(x - 32.5, top + 40.5, 66, 24, "fn se dash", 5)
        drawing.text(x, top + 56, links.gpus_text, "mid q")
    drawing.text(352, top + 49, gettext("largest cluster"), "q e")
    largest = gettext("unknown") if links.largest is None else gpus_text(links.largest)
    drawing.text(352, top + 63, largest, "e b")
