"""The rules: what follows from what is said of an instance type.

Each takes what is known so far and yields findings, derived facts that name their rule; the first
for an attribute stays (`catalog.ledger`). A rule never guesses.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from decimal import Decimal

from catalog.facts import Finding, gpus
from catalog.known import Spec, rounded
from catalog.records import NVLINK, Basis, FabricKind, Fact, MultiNode, ScaleUp, Support, Value

Rule = Callable[[Spec], Iterator[Finding]]
PRODUCT = ("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s")
# Whole boards: GPUs that always sit eight to a board, every one linked to every other.
HGX_FORMS = {"sxm4", "sxm5", "sxm6"}
MESHES = {
    "amd": (ScaleUp.INFINITY_FABRIC_MESH, "oam"),
    "intel": (ScaleUp.GAUDI_MESH, "oam"),
}
BOARD_GPUS = 8
LINKED = (*NVLINK, ScaleUp.INFINITY_FABRIC_MESH, ScaleUp.GAUDI_MESH)
RDMA = (FabricKind.INFINIBAND, FabricKind.ROCE, FabricKind.ERDMA)
TCPX = (FabricKind.GPUDIRECT_TCPX, FabricKind.GPUDIRECT_TCPXO)


def derived(known: Spec, attribute: str, value: Value, rule: str, *premises: str | Fact) -> Finding:
    """A derived fact: as old as the oldest of its premises, and disputed where one of them is.

    A premise is an attribute of which something is known, or a fact of the GPU's datasheet.
    """
    rests_on = [Finding(p, (p,)) if isinstance(p, Fact) else known.findings[p] for p in premises]
    checked = min(premise.fact.checked for premise in rests_on)
    fact = Fact("", attribute, value, Basis.DERIVED, f"rule: {rule}", checked)
    return Finding(fact, (fact,), disputed=any(premise.disputed for premise in rests_on))


def _of_the_datasheet(fact: Fact) -> Finding:
    return Finding(fact, (fact,))


def _gpu_fact(known: Spec, attribute: str) -> Fact | None:
    return gpus().get(str(known["gpu"]), {}).get(attribute)


def from_the_gpu(known: Spec) -> Iterator[Finding]:
    """What the datasheet of the SKU says, whatever board it sits on."""
    for attribute in ("gpu_vendor", "gpu_memory_gb"):
        if fact := _gpu_fact(known, attribute):
            yield _of_the_datasheet(fact)


def _one_gpu(known: Spec) -> Iterator[Finding]:
    count = known.number("gpu_count")
    if count is None or count > 1 or known["form_factor"] == "superchip":
        return  # a tray of an NVL72 rack may be sold by the GPU: its domain is the rack's
    rule = "one GPU or less has no peer in its instance"
    yield derived(known, "scale_up", ScaleUp.NONE.value, rule, "gpu_count")
    yield derived(known, "scale_up_domain_gpus", 1, rule, "gpu_count")


def _whole_board(known: Spec) -> Iterator[Finding]:
    """By the form factor, which is known before the SKU is: "8x A100 SXM4", of 40 GB or of 80."""
    board = ("gpu_count", "form_factor")
    count, form, vendor = known.number("gpu_count"), known["form_factor"], known["gpu_vendor"]
    if count and 1 < count < BOARD_GPUS and form == "oam" and vendor == "amd":
        rule = "AMD's OAM boards link each to each, however many of one are rented"
        mesh = ScaleUp.INFINITY_FABRIC_MESH.value
        yield derived(known, "scale_up", mesh, rule, *board, "gpu_vendor")
    if count != BOARD_GPUS:
        return
    if form in HGX_FORMS:
        rule = "an 8-GPU SXM board has NVSwitch"
        yield derived(known, "scale_up", ScaleUp.NVSWITCH.value, rule, *board)
    elif form == "sxm2":
        rule = "an 8-GPU SXM2 board is a hybrid cube mesh of NVLink"
        yield derived(known, "scale_up", ScaleUp.NVLINK_MESH.value, rule, *board)
    elif (made := MESHES.get(str(vendor))) and form == made[1]:
        rule = f"an 8-accelerator {vendor} OAM board links each to each"
        yield derived(known, "scale_up", made[0].value, rule, *board, "gpu_vendor")


def _bridged_pair(known: Spec) -> Iterator[Finding]:
    count = known.number("gpu_count")
    if known["form_factor"] == "nvl" and str(known["gpu"]).startswith("h100") and count:
        rule = "H100 NVL cards are bridged in pairs"
        if count >= 2:
            pair = ScaleUp.NVLINK_BRIDGE.value
            yield derived(known, "scale_up", pair, rule, "gpu", "form_factor", "gpu_count")


def _no_links_on_the_card(known: Spec) -> Iterator[Finding]:
    card = _gpu_fact(known, "scale_up")
    count = known.number("gpu_count")
    if card is not None and card.value == ScaleUp.PCIE and count is not None and count > 1:
        rule = f"the card has no GPU-to-GPU links ({card.source})"
        yield derived(known, "scale_up", ScaleUp.PCIE.value, rule, "gpu", "gpu_count", card)


def _domain(known: Spec) -> Iterator[Finding]:
    scale_up, count = known["scale_up"], known.number("gpu_count")
    if scale_up in (ScaleUp.PCIE, ScaleUp.NONE):
        rule = "no links: each GPU is its own domain"
        yield derived(known, "scale_up_domain_gpus", 1, rule, "scale_up")
    elif scale_up == ScaleUp.NVLINK_BRIDGE:
        rule = "a bridge joins two GPUs"
        yield derived(known, "scale_up_domain_gpus", 2, rule, "scale_up")
    elif scale_up in LINKED and count and count > 1 and known["form_factor"] != "superchip":
        rule = "all GPUs of the instance share its board's links"
        yield derived(known, "scale_up_domain_gpus", int(count), rule, "scale_up", "gpu_count")


def _link_speed(known: Spec) -> Iterator[Finding]:
    """The datasheet's rate, where the instance is known to have the datasheet's links."""
    scale_up, domain = known["scale_up"], known.number("scale_up_domain_gpus")
    if scale_up not in LINKED or domain is None or domain < 2:
        return
    if scale_up in NVLINK and (generation := _gpu_fact(known, "nvlink_generation")):
        yield _of_the_datasheet(generation)
    rated = _gpu_fact(known, "scale_up_gbytes_per_s")
    if rated is None or scale_up == ScaleUp.NVLINK_BRIDGE:
        return
    if scale_up in (ScaleUp.INFINITY_FABRIC_MESH, ScaleUp.GAUDI_MESH):
        yield from _mesh_speed(known, rated, min(domain, Decimal(BOARD_GPUS)))
    else:
        yield _of_the_datasheet(rated)


def _mesh_speed(known: Spec, rated: Fact, domain: Decimal) -> Iterator[Finding]:
    """Of a full mesh each link goes to one peer: fewer peers, less bandwidth in all."""
    pair = Decimal(str(rated.value)) / (BOARD_GPUS - 1)
    rule = f"a mesh link for each of the {BOARD_GPUS - 1} peers ({rated.source})"
    board = ("gpu", "scale_up", rated)
    yield derived(known, "scale_up_pair_gbytes_per_s", rounded(pair), rule, *board)
    if domain == BOARD_GPUS and not known.findings["scale_up_domain_gpus"].disputed:
        yield _of_the_datasheet(rated)
    else:
        total = rounded(pair * (domain - 1))
        yield derived(known, "scale_up_gbytes_per_s", total, rule, *board, "scale_up_domain_gpus")


def _pair_speed(known: Spec) -> Iterator[Finding]:
    total = known["scale_up_gbytes_per_s"]
    if known["scale_up"] in (ScaleUp.NVSWITCH, ScaleUp.NVLINK_BRIDGE) and total is not None:
        rule = "through a switch or a bridge one peer can have all of it"
        yield derived(
            known, "scale_up_pair_gbytes_per_s", total, rule,
            "scale_up", "scale_up_gbytes_per_s",
        )  # fmt: skip


def _fabric_product(known: Spec) -> Iterator[Finding]:
    nics, rate = known.number("fabric_nics"), known.number("fabric_gbits_per_s_per_nic")
    total = known.number("fabric_gbits_per_s")
    count, each, whole = PRODUCT
    if total is None and nics and rate:
        yield derived(known, whole, nics * rate, "NICs × rate", count, each)
    elif rate is None and nics and total:
        yield derived(known, each, total / nics, "total ÷ NICs", count, whole)


def _plain_ethernet(known: Spec) -> Iterator[Finding]:
    """On plain Ethernet an instance has no network of its own to its peers: the front end is what
    joins them, unless its provider says of this very type that it joins none. A rate that its
    source does not promise stays one that is not promised."""
    front = known.findings.get("frontend_gbits_per_s")
    joined = known.findings.get("multi_node")
    alone = joined and joined.value == MultiNode.NO and joined.fact.basis == Basis.DOCUMENTED
    if known["fabric"] == FabricKind.ETHERNET and front and not alone:
        rule = f"instances on plain Ethernet meet over the front end ({front.fact.source})"
        found = derived(
            known, "fabric_gbits_per_s", front.value, rule, "fabric", "frontend_gbits_per_s"
        )
        fact = replace(found.fact, provisional=front.fact.provisional, note=front.fact.note)
        yield replace(found, fact=fact)


def _by_definition(known: Spec) -> Iterator[Finding]:
    """What the kind of fabric is, not what a provider set up."""
    fabric = known["fabric"]
    if fabric in RDMA:
        rule = f"{fabric} is an RDMA fabric"
        yield derived(known, "rdma", Support.YES.value, rule, "fabric")
    if fabric is not None and fabric != FabricKind.INFINIBAND:
        rule = "SHARP is a function of InfiniBand switches"
        yield derived(known, "sharp", Support.NO.value, rule, "fabric")


def _gpudirect(known: Spec) -> Iterator[Finding]:
    """By definition only: RDMA between GPUs is never derived from the presence of a fabric."""
    fabric, premise = known["fabric"], "gpudirect_rdma"
    if fabric in TCPX:
        rule = f"{fabric} copies into GPU memory over TCP: GPUDirect, not RDMA"
        yield derived(known, "gpudirect", Support.YES.value, rule, "fabric")
        yield derived(known, "gpudirect_rdma", Support.NO.value, rule, "fabric")
    elif fabric in (FabricKind.ETHERNET, FabricKind.NONE):
        rule = "a network without RDMA has no GPUDirect RDMA"
        yield derived(known, "gpudirect_rdma", Support.NO.value, rule, "fabric")
    if (rdma := known["gpudirect_rdma"]) in (Support.YES, Support.CONDITIONAL):
        yield derived(known, "gpudirect", rdma, "GPUDirect RDMA is GPUDirect", premise)
    if rdma == Support.YES:
        yield derived(known, "rdma", rdma, "GPUDirect RDMA is RDMA", premise)


RULES: tuple[Rule, ...] = (
    _one_gpu,
    _whole_board,
    _bridged_pair,
    _no_links_on_the_card,
    _domain,
    _link_speed,
    _pair_speed,
    _fabric_product,
    _plain_ethernet,
    _by_definition,
    _gpudirect,
)
