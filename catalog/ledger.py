"""From all that is said of one instance type to one value an attribute, with its evidence.

The listing, the bundled facts and the GPU's datasheet speak first (`catalog.facts.speaking`); then
the rules below fill in what follows from them, each a derived fact that names its rule. A rule
never overrules a statement, and never guesses: where nothing follows, the attribute stays unknown.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from catalog.facts import ATTRIBUTES, STRENGTH, BadFact, Finding, gpus, speaking
from catalog.records import (
    NVLINK,
    OFFER_KEYS,
    WITHHELD,
    Basis,
    FabricKind,
    Fact,
    MultiNode,
    OfferRecord,
    ScaleUp,
    Support,
    Value,
)

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


@dataclass(frozen=True, slots=True)
class Spec:
    """What is known of one instance type: a finding an attribute, and what is computed of them."""

    findings: Mapping[str, Finding]

    def __getitem__(self, name: str) -> Value:
        finding = self.findings.get(name)
        return finding.value if finding else None

    def number(self, name: str) -> Decimal | None:
        """The value of a numeric attribute. In its own unit, or None where unknown."""
        value = self[name]
        return None if value is None else Decimal(str(value))

    @property
    def disputed(self) -> tuple[str, ...]:
        """Attributes whose strongest claims differ, in the order of ATTRIBUTES."""
        return tuple(
            name for name in ATTRIBUTES if (f := self.findings.get(name)) is not None and f.disputed
        )

    @property
    def nvlink_domain_gpus(self) -> int | None:
        """GPUs that reach each other over NVLink; 1 where there is none; None where unknown."""
        scale_up, domain = self["scale_up"], self["scale_up_domain_gpus"]
        if scale_up is not None and scale_up not in NVLINK:
            return 1
        if domain is None or (scale_up is None and self["nvlink_generation"] is None):
            return None
        return int(Decimal(str(domain)))

    @property
    def domain_gpu_memory_gb(self) -> Decimal | None:
        """Memory a model can be split over without leaving the fast links. [GB]"""
        return _times(self.number("scale_up_domain_gpus"), self.number("gpu_memory_gb"))

    @property
    def fabric_gbits_per_s_per_gpu(self) -> Decimal | None:
        """One way, guaranteed. [Gb/s]"""
        total, count = self.number("fabric_gbits_per_s"), self.number("gpu_count")
        return None if total is None or count is None else total / count

    @property
    def cliff(self) -> Decimal | None:
        """How steep the fall is on leaving the domain: its GB/s over the fabric's, both one way."""
        inside, between = self.number("scale_up_gbytes_per_s"), self.fabric_gbits_per_s_per_gpu
        return None if inside is None or not between else inside / (between / 8)

    def columns(self) -> dict[str, Value]:
        """The columns of an instance type: every attribute that has one, and the computed four."""
        said = {name: self[name] for name, a in ATTRIBUTES.items() if a.column}
        return said | {
            "nvlink_domain_gpus": self.nvlink_domain_gpus,
            "domain_gpu_memory_gb": _rounded(self.domain_gpu_memory_gb),
            "fabric_gbits_per_s_per_gpu": _rounded(self.fabric_gbits_per_s_per_gpu),
            "cliff": _rounded(self.cliff),
            "disputed": self.disputed,
        }


Rule = Callable[[Spec], Iterator[Finding]]


def spec(facts: Iterable[Fact]) -> Spec:
    """What is known of one instance type, from every fact said of it."""
    facts = tuple(facts)
    findings = _in_agreement(speaking((*facts, *_in_the_name(facts))))
    withheld = {f.attribute for f in facts if f.value is None and f.note.startswith(WITHHELD)}
    for rule in (_from_the_gpu, *RULES):
        for finding in _concluded(rule, Spec(findings)):
            if finding.fact.attribute not in withheld:
                findings.setdefault(finding.fact.attribute, finding)
    return Spec(findings)


def _concluded(rule: Rule, known: Spec) -> Iterator[Finding]:
    """What follows by a rule; from a disputed premise, also what follows from the other claims."""
    for finding in rule(known):
        name, claims = finding.fact.attribute, {finding.value: finding.fact}
        for other in _otherwise(known) if finding.disputed else ():
            for fact in (each.fact for each in rule(other) if each.fact.attribute == name):
                claims.setdefault(fact.value, fact)
        yield replace(finding, claims=tuple(claims.values()))


def _otherwise(known: Spec) -> Iterator[Spec]:
    """What is known, were one disputed fact as another of its strongest claims has it."""
    for name in known.disputed:
        speaks = known.findings[name]
        for claim in speaks.claims:
            peer = claim.basis == speaks.fact.basis and not claim.scope
            if peer and claim.value not in (None, speaks.value):
                yield Spec({**known.findings, name: replace(speaks, fact=claim)})


PRODUCT = ("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s")
ROUNDED = Decimal("0.02")


def _in_agreement(findings: dict[str, Finding]) -> dict[str, Finding]:
    """NICs × rate is the total, in what speaks too: where several sources make up the three and it
    is not, none of them is above dispute, and the rate or the total follows the better founded.
    """
    if not all(name in findings for name in PRODUCT):
        return findings
    nics, rate, total = (findings[name] for name in PRODUCT)
    n, each, whole = (Decimal(str(finding.value)) for finding in (nics, rate, total))
    if abs(n * each - whole) <= ROUNDED * max(n * each, whole):
        return findings
    found = dict(findings)
    if nics.disputed or not n:
        found |= {name: replace(findings[name], disputed=True) for name in PRODUCT}
    elif STRENGTH.index(rate.fact.basis) < STRENGTH.index(total.fact.basis):
        found[PRODUCT[2]] = _following(
            findings, PRODUCT[2], n * each, "NICs × rate, in dispute", *PRODUCT[:2]
        )
    else:
        found[PRODUCT[1]] = _following(
            findings, PRODUCT[1], whole / n, "total ÷ NICs, in dispute", PRODUCT[2], PRODUCT[0]
        )
        found[PRODUCT[2]] = replace(total, disputed=True)
    return found


def _following(
    findings: Mapping[str, Finding], name: str, value: Decimal, rule: str, *premises: str
) -> Finding:
    fact = _derived(Spec(findings), name, _rounded(value), rule, *premises).fact
    return Finding(fact, (fact, *findings[name].claims), disputed=True)


def _in_the_name(facts: Iterable[Fact]) -> Iterator[Fact]:
    """The form factor is part of a SKU's name: who says the one says the other, as firmly."""
    for fact in facts:
        if fact.attribute == "gpu" and (form := gpus().get(str(fact.value), {}).get("form_factor")):
            yield replace(fact, attribute="form_factor", value=form.value)


def describe(record: OfferRecord, ledger: Iterable[Fact] = ()) -> dict[str, object]:
    """An offer with every key of DESIGN 7, null where unknown; money as strings of decimals.

    `ledger` adds the facts known of its type besides what the listing itself says.
    """
    known = spec((*record.facts, *ledger)).columns()
    money = {
        "usd_per_hour": record.usd_per_hour,
        "usd_per_gpu_hour": _per_gpu(record.usd_per_hour, known["gpu_count"]),
        "native_amount": record.native_amount,
        "usd_rate": record.usd_rate,
    }
    offer: dict[str, object] = {
        key: known[key] if key in known else getattr(record, key, None) for key in OFFER_KEYS
    }
    offer |= {key: None if amount is None else plain(amount) for key, amount in money.items()}
    offer["collected_at"] = record.collected_at.isoformat()
    offer["usd_rate_date"] = record.usd_rate_date and record.usd_rate_date.isoformat()
    return {key: _jsonable(value) for key, value in offer.items()}


def plain(amount: Decimal) -> str:
    """A decimal as people write it: no exponent, no trailing zeros."""
    text = format(amount, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def text_of(value: Value) -> str | None:
    """A value as the ledger keeps it; `ATTRIBUTES[name].read` turns it back."""
    if value is None or isinstance(value, str):
        return None if value is None else str(value)
    if isinstance(value, int | float | Decimal):
        return plain(Decimal(str(value)))
    raise BadFact(f"{value!r} cannot be kept as one value")


def unfit(fact: Fact) -> str | None:
    """Why a fact cannot be kept, or None."""
    attribute = ATTRIBUTES.get(fact.attribute)
    if attribute is None:
        return f"{fact.attribute} is not an attribute"
    try:
        text = text_of(fact.value)
        if text is not None:
            attribute.read(text)
    except BadFact as problem:
        return f"{fact.attribute} {problem}"
    if fact.attribute == "gpu" and text is not None and text not in gpus():
        return f"the GPU {text!r} is not in gpus.csv"
    if not fact.source or max(len(fact.source), len(fact.note)) > 1000 or len(fact.scope) > 200:
        return f"{fact.attribute}: its source is missing or its words are too long"
    if "\x00" in f"{fact.subject}{text}{fact.source}{fact.scope}{fact.note}":
        return f"{fact.attribute}: it is no text"
    return None


def _per_gpu(usd_per_hour: Decimal | None, gpu_count: Value) -> Decimal | None:
    if usd_per_hour is None or not gpu_count:
        return None
    return round(usd_per_hour / Decimal(str(gpu_count)), 6)


def _jsonable(value: object) -> object:
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return list(value) if isinstance(value, tuple) else value


def _times(a: Decimal | None, b: Decimal | None) -> Decimal | None:
    return None if a is None or b is None else a * b


def _rounded(number: Decimal | None) -> Decimal | None:
    return None if number is None else round(number, 4)


# --- The rules: what follows from what is said ------------------------------------------------
#
# Each takes what is known so far and yields findings; the first for an attribute stays.


def _derived(
    known: Spec, attribute: str, value: Value, rule: str, *premises: str | Fact
) -> Finding:
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


def _from_the_gpu(known: Spec) -> Iterator[Finding]:
    """What the datasheet of the SKU says, whatever board it sits on."""
    for attribute in ("gpu_vendor", "gpu_memory_gb"):
        if fact := _gpu_fact(known, attribute):
            yield _of_the_datasheet(fact)


def _one_gpu(known: Spec) -> Iterator[Finding]:
    count = known.number("gpu_count")
    if count is None or count > 1 or known["form_factor"] == "superchip":
        return  # a tray of an NVL72 rack may be sold by the GPU: its domain is the rack's
    rule = "one GPU or less has no peer in its instance"
    yield _derived(known, "scale_up", ScaleUp.NONE.value, rule, "gpu_count")
    yield _derived(known, "scale_up_domain_gpus", 1, rule, "gpu_count")


def _whole_board(known: Spec) -> Iterator[Finding]:
    """By the form factor, which is known before the SKU is: "8x A100 SXM4", of 40 GB or of 80."""
    board = ("gpu_count", "form_factor")
    count, form, vendor = known.number("gpu_count"), known["form_factor"], known["gpu_vendor"]
    if count and 1 < count < BOARD_GPUS and form == "oam" and vendor == "amd":
        rule = "AMD's OAM boards link each to each, however many of one are rented"
        mesh = ScaleUp.INFINITY_FABRIC_MESH.value
        yield _derived(known, "scale_up", mesh, rule, *board, "gpu_vendor")
    if count != BOARD_GPUS:
        return
    if form in HGX_FORMS:
        rule = "an 8-GPU SXM board has NVSwitch"
        yield _derived(known, "scale_up", ScaleUp.NVSWITCH.value, rule, *board)
    elif form == "sxm2":
        rule = "an 8-GPU SXM2 board is a hybrid cube mesh of NVLink"
        yield _derived(known, "scale_up", ScaleUp.NVLINK_MESH.value, rule, *board)
    elif (made := MESHES.get(str(vendor))) and form == made[1]:
        rule = f"an 8-accelerator {vendor} OAM board links each to each"
        yield _derived(known, "scale_up", made[0].value, rule, *board, "gpu_vendor")


def _bridged_pair(known: Spec) -> Iterator[Finding]:
    count = known.number("gpu_count")
    if known["form_factor"] == "nvl" and str(known["gpu"]).startswith("h100") and count:
        rule = "H100 NVL cards are bridged in pairs"
        if count >= 2:
            pair = ScaleUp.NVLINK_BRIDGE.value
            yield _derived(known, "scale_up", pair, rule, "gpu", "form_factor", "gpu_count")


def _no_links_on_the_card(known: Spec) -> Iterator[Finding]:
    card = _gpu_fact(known, "scale_up")
    count = known.number("gpu_count")
    if card is not None and card.value == ScaleUp.PCIE and count is not None and count > 1:
        rule = f"the card has no GPU-to-GPU links ({card.source})"
        yield _derived(known, "scale_up", ScaleUp.PCIE.value, rule, "gpu", "gpu_count", card)


def _domain(known: Spec) -> Iterator[Finding]:
    scale_up, count = known["scale_up"], known.number("gpu_count")
    if scale_up in (ScaleUp.PCIE, ScaleUp.NONE):
        rule = "no links: each GPU is its own domain"
        yield _derived(known, "scale_up_domain_gpus", 1, rule, "scale_up")
    elif scale_up == ScaleUp.NVLINK_BRIDGE:
        rule = "a bridge joins two GPUs"
        yield _derived(known, "scale_up_domain_gpus", 2, rule, "scale_up")
    elif scale_up in LINKED and count and count > 1 and known["form_factor"] != "superchip":
        rule = "all GPUs of the instance share its board's links"
        yield _derived(known, "scale_up_domain_gpus", int(count), rule, "scale_up", "gpu_count")


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
    yield _derived(known, "scale_up_pair_gbytes_per_s", _rounded(pair), rule, *board)
    if domain == BOARD_GPUS and not known.findings["scale_up_domain_gpus"].disputed:
        yield _of_the_datasheet(rated)
    else:
        total = _rounded(pair * (domain - 1))
        yield _derived(known, "scale_up_gbytes_per_s", total, rule, *board, "scale_up_domain_gpus")


def _pair_speed(known: Spec) -> Iterator[Finding]:
    total = known["scale_up_gbytes_per_s"]
    if known["scale_up"] in (ScaleUp.NVSWITCH, ScaleUp.NVLINK_BRIDGE) and total is not None:
        rule = "through a switch or a bridge one peer can have all of it"
        yield _derived(
            known, "scale_up_pair_gbytes_per_s", total, rule,
            "scale_up", "scale_up_gbytes_per_s",
        )  # fmt: skip


def _fabric_product(known: Spec) -> Iterator[Finding]:
    nics, rate = known.number("fabric_nics"), known.number("fabric_gbits_per_s_per_nic")
    total = known.number("fabric_gbits_per_s")
    count, each, whole = PRODUCT
    if total is None and nics and rate:
        yield _derived(known, whole, nics * rate, "NICs × rate", count, each)
    elif rate is None and nics and total:
        yield _derived(known, each, total / nics, "total ÷ NICs", count, whole)


def _plain_ethernet(known: Spec) -> Iterator[Finding]:
    """On plain Ethernet an instance has no network of its own to its peers: the front end is what
    joins them, unless its provider says of this very type that it joins none. A rate that its
    source does not promise stays one that is not promised."""
    front = known.findings.get("frontend_gbits_per_s")
    joined = known.findings.get("multi_node")
    alone = joined and joined.value == MultiNode.NO and joined.fact.basis == Basis.DOCUMENTED
    if known["fabric"] == FabricKind.ETHERNET and front and not alone:
        rule = f"instances on plain Ethernet meet over the front end ({front.fact.source})"
        found = _derived(
            known, "fabric_gbits_per_s", front.value, rule, "fabric", "frontend_gbits_per_s"
        )
        fact = replace(found.fact, provisional=front.fact.provisional, note=front.fact.note)
        yield replace(found, fact=fact)


def _by_definition(known: Spec) -> Iterator[Finding]:
    """What the kind of fabric is, not what a provider set up."""
    fabric = known["fabric"]
    if fabric in RDMA:
        rule = f"{fabric} is an RDMA fabric"
        yield _derived(known, "rdma", Support.YES.value, rule, "fabric")
    if fabric is not None and fabric != FabricKind.INFINIBAND:
        rule = "SHARP is a function of InfiniBand switches"
        yield _derived(known, "sharp", Support.NO.value, rule, "fabric")


def _gpudirect(known: Spec) -> Iterator[Finding]:
    """By definition only: RDMA between GPUs is never derived from the presence of a fabric."""
    fabric, premise = known["fabric"], "gpudirect_rdma"
    if fabric in TCPX:
        rule = f"{fabric} copies into GPU memory over TCP: GPUDirect, not RDMA"
        yield _derived(known, "gpudirect", Support.YES.value, rule, "fabric")
        yield _derived(known, "gpudirect_rdma", Support.NO.value, rule, "fabric")
    elif fabric in (FabricKind.ETHERNET, FabricKind.NONE):
        rule = "a network without RDMA has no GPUDirect RDMA"
        yield _derived(known, "gpudirect_rdma", Support.NO.value, rule, "fabric")
    if (rdma := known["gpudirect_rdma"]) in (Support.YES, Support.CONDITIONAL):
        yield _derived(known, "gpudirect", rdma, "GPUDirect RDMA is GPUDirect", premise)
    if rdma == Support.YES:
        yield _derived(known, "rdma", rdma, "GPUDirect RDMA is RDMA", premise)


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
