"""From all that is said of one instance type to one value an attribute, with its evidence.

The listing, the bundled facts and the GPU's datasheet speak first (`catalog.facts.speaking`); then
`catalog.rules` fills in what follows from them, each a derived fact that names its rule. A rule
never overrules a statement: where nothing follows, the attribute stays unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal

from catalog.facts import ATTRIBUTES, STRENGTH, BadFact, Finding, gpus, speaking
from catalog.known import Spec, rounded
from catalog.records import (
    OFFER_KEYS,
    WITHHELD,
    Fact,
    OfferRecord,
    Value,
)
from catalog.rules import PRODUCT, RULES, Rule, derived, from_the_gpu


def spec(facts: Iterable[Fact]) -> Spec:
    """What is known of one instance type, from every fact said of it."""
    facts = tuple(facts)
    findings = _in_agreement(speaking((*facts, *_in_the_name(facts))))
    withheld = {f.attribute for f in facts if f.value is None and f.note.startswith(WITHHELD)}
    for rule in (from_the_gpu, *RULES):
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
    fact = derived(Spec(findings), name, rounded(value), rule, *premises).fact
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
