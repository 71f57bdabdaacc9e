"""One instance type, whole: every fact with its evidence, its prices, and what is still to ask."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import translation
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from catalog import wording
from catalog.applies import arises
from catalog.facts import ATTRIBUTES, Attribute
from catalog.models import Fact, InstanceType, Price
from catalog.offers import of_type
from catalog.records import Basis


@dataclass(frozen=True, slots=True)
class Question:
    """One thing to know before renting: the attribute that answers it, and how to ask for it.

    `besides` are further attributes that the same question asks for; `alone` asks for the first
    where some of those are known, and each of them is asked for by its name where the first is.
    """

    attribute: str
    title: str
    ask: str
    besides: tuple[str, ...] = ()
    alone: str = ""

    def unsaid(self, kind: Mapping[str, Any]) -> list[str]:
        """What it asks for that nobody says, and that can be asked of the type."""
        return [
            name for name in self.all if name in kind and kind[name] is None and arises(name, kind)
        ]

    def left(self, kind: Mapping[str, Any], unsaid: Collection[str]) -> list[str]:
        """What to ask where these are unsaid, and nothing of what is known."""
        besides = [name for name in self.besides if name in unsaid]
        if self.attribute in unsaid or (besides and kind.get(self.attribute) is None):
            if not self.alone or all(kind.get(name) is None for name in self.besides):
                return [gettext(self.ask)]
            asked = [gettext(self.alone)]
        else:
            asked = []
        if besides:
            facts = gettext(", ").join(wording.title(name) for name in besides)
            said = gettext("We found nothing on “%(facts)s”: what can you tell us?")
            asked.append(said % {"facts": facts})
        return asked

    @property
    def all(self) -> tuple[str, ...]:
        """Every attribute that it asks for."""
        return (self.attribute, *self.besides)


CHECKLIST = (
    Question(
        "form_factor",
        _("In which form are the GPUs?"),
        _("Of which make, form and memory are the GPUs, and how many are in one instance?"),
        ("gpu", "gpu_count", "gpu_memory_gb", "gpu_vendor"),
        _("In which form are the GPUs: SXM, OAM or PCIe?"),
    ),
    Question(
        "scale_up",
        _("How are the GPUs joined inside the instance?"),
        _("Are the GPUs joined by NVSwitch, by NVLink bridges in pairs, or by PCIe only?"),
    ),
    Question(
        "scale_up_gbytes_per_s",
        _("How fast, per GPU and one way?"),
        _("What NVLink bandwidth has each GPU, and each pair of them, in GB/s one way?"),
        ("scale_up_pair_gbytes_per_s", "nvlink_generation"),
    ),
    Question(
        "scale_up_domain_gpus",
        _("How many GPUs share one domain?"),
        _("How many GPUs share one NVLink domain, and how many of them are guaranteed?"),
    ),
    Question(
        "fabric",
        _("What joins the instances?"),
        _("Which network joins instances for GPU traffic: InfiniBand, RoCE, EFA or Ethernet?"),
        ("fabric_generation",),
    ),
    Question(
        "fabric_gbits_per_s_per_gpu",
        _("At what speed per GPU?"),
        _("How many fabric NICs has one instance, at what Gb/s each, apart from the front end?"),
        ("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s"),
    ),
    Question(
        "gpudirect_rdma",
        _("Is GPUDirect RDMA on?"),
        _("Is GPUDirect RDMA enabled, and what must we install or request for it?"),
        ("gpudirect", "rdma"),
    ),
    Question(
        "sharp",
        _("Does the switch reduce (SHARP)?"),
        _("Is SHARP (in-network reduction) enabled for tenants?"),
    ),
    Question(
        "oversubscription",
        _("Is the fabric oversubscribed?"),
        _("What is the oversubscription between leaf and spine, and is it rail-optimised?"),
        ("rail_optimised",),
        _("What is the oversubscription between leaf and spine?"),
    ),
    Question(
        "multi_node",
        _("Can several be had together?"),
        _("Can we rent several of these on one fabric ourselves, or by reservation?"),
    ),
    Question(
        "same_fabric",
        _("What puts them on the same fabric?"),
        _("What do we set so that all instances land on the same fabric?"),
    ),
    Question(
        "max_gpus_on_one_fabric",
        _("How large can one cluster be?"),
        _("How many of these GPUs can one fabric join, and how many are free now?"),
    ),
    Question(
        "frontend_gbits_per_s",
        _("How large is the host, how fast its front end?"),
        _("What has the host: vCPUs, memory, and how many Gb/s on the front end?"),
        ("vcpus", "ram_gb"),
        _("How many Gb/s has the host on the front end?"),
    ),
)


def detail(provider: str, name: str) -> dict[str, Any] | None:
    """Everything known of one type, or None where the catalog has never had it."""
    if "\x00" in provider + name:
        return None
    kind = (
        InstanceType.objects.select_related("provider", "gpu")
        .filter(provider=provider, name=name)
        .first()
    )
    if kind is None:
        return None
    values = _values(kind)
    said = list(Fact.objects.filter(subject=f"{provider}/{name}").order_by("attribute", "id"))
    return {
        "provider": provider,
        "provider_title": kind.provider.title,
        "instance_type": name,
        **values,
        "checked": kind.checked,
        "facts": list(_facts(kind, values, said)),
        "prices": of_type(kind.pk),
        "history": _history(kind),
        "fabrics": list(kind.fabrics.order_by("slug").values()),
        "ended_at": _ended_at(kind),
        "checklist": [_answer(question, values) for question in CHECKLIST],
    }


def _values(kind: InstanceType) -> dict[str, Any]:
    """The columns of a type, by the names of DESIGN 3."""
    names = [name for name, attribute in ATTRIBUTES.items() if attribute.column]
    computed = ["nvlink_domain_gpus", "domain_gpu_memory_gb", "fabric_gbits_per_s_per_gpu", "cliff"]
    values = {name: getattr(kind, name) for name in (*names, *computed) if name != "gpu"}
    return {"gpu": kind.gpu_id, "gpu_candidates": kind.gpu_candidates, **values,
            "disputed": kind.disputed}  # fmt: skip


def _facts(
    kind: InstanceType, values: Mapping[str, Any], said: Iterable[Fact]
) -> Iterable[dict[str, Any]]:
    """One entry an attribute, known or not: what speaks, every claim, and where was looked."""
    by_attribute: dict[str, list[Fact]] = defaultdict(list)
    for fact in said:
        by_attribute[fact.attribute].append(fact)
    for name, attribute in ATTRIBUTES.items():
        live = any(fact.superseded_at is None for fact in by_attribute[name])
        if attribute.column or live:
            said_of = kind.evidence.get(name, {})
            yield _fact(attribute, values.get(name), said_of, by_attribute[name])


def _fact(
    attribute: Attribute, value: object, evidence: Mapping[str, Any], said: Iterable[Fact]
) -> dict[str, Any]:
    live = [fact for fact in said if fact.superseded_at is None]
    return {
        "attribute": attribute.name,
        "title": attribute.title,
        "group": attribute.group,
        "unit": attribute.unit,
        "value": value,
        "basis": evidence.get("basis"),
        "source": evidence.get("source"),
        "checked": evidence.get("checked"),
        "note": evidence.get("note") or "",
        "provisional": bool(evidence.get("provisional")),
        "disputed": bool(evidence.get("disputed")),
        "claims": [
            *(_claim(fact) for fact in live if fact.value is not None),
            *_concluded(evidence, {fact.source for fact in live}),
        ],
        "looked": [_claim(fact) for fact in live if fact.value is None],
        "withdrawn": [_claim(fact) for fact in said if fact.superseded_at is not None],
    }


def _concluded(evidence: Mapping[str, Any], listed: set[str]) -> Iterable[dict[str, Any]]:
    """What follows by a rule from each claim of a dispute: no list holds it, the ledger does."""
    if evidence.get("disputed"):
        for claim in (evidence, *evidence["claims"]):
            if claim["basis"] == Basis.DERIVED and claim["source"] not in listed:
                yield {name: claim[name] for name in CLAIM}


CLAIM = ("value", "basis", "source", "checked", "scope", "note")


def _claim(fact: Fact) -> dict[str, Any]:
    return {
        "value": fact.value,
        "basis": fact.basis,
        "source": fact.source,
        "checked": fact.checked.isoformat(),
        "scope": fact.scope,
        "note": fact.note,
    }


def _history(kind: InstanceType) -> list[dict[str, Any]]:
    """Every price period of its offers, the oldest first."""
    columns = (
        "usd_per_hour", "native_amount", "native_currency", "usd_rate", "usd_rate_date",
        "valid_from", "valid_to",
        "offer__region", "offer__tier", "offer__price_model",
    )  # fmt: skip
    periods = Price.objects.filter(offer__instance_type=kind).order_by("valid_from", "id")
    return [dict(period) for period in periods.values(*columns)[:5000]]


def _ended_at(kind: InstanceType) -> Any:
    """When its last offer left the list; None while one stands in it, or where there never was."""
    ends = kind.offers.values_list("ended_at", flat=True)
    known = [end for end in ends if end is not None]
    return max(known) if known and len(known) == len(ends) else None


def _answer(question: Question, values: Mapping[str, Any]) -> dict[str, Any]:
    value = values[question.attribute]
    with translation.override("en"):
        left = question.left(values, question.unsaid(values))
    return {
        "attribute": question.attribute,
        "title": question.title,
        "known": value is not None and question.attribute not in values["disputed"],
        "value": value,
        "ask": " ".join(left) or question.ask,
        "open": bool(left) or not set(question.all).isdisjoint(values["disputed"]),
    }
