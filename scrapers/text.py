"""A listing as people paste it, read honestly: what the words say, what we know of the type, why.

A text is somebody's copy, so what it says is `stated`: the bundled facts of a known instance type
speak before it, and the text fills what they leave open. `text_tables` parts it; `text_claims`
tells a yes from a no; `text_gpus`, `text_links`, `text_fabrics`, `text_networks`, `text_peaks` and
`text_prices` have a reader for each kind of wording.
"""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from itertools import pairwise

from catalog.facts import ATTRIBUTES, gpus
from catalog.ledger import plain, spec
from catalog.records import WITHHELD, Basis, Fact, OfferRecord, PriceModel
from scrapers.known_types import facts_of, known_types
from scrapers.lines import offer_line
from scrapers.listing import Unreadable
from scrapers.quantities import LONGEST, fold
from scrapers.text_fabrics import FABRIC_READERS
from scrapers.text_gpu_words import gpu_in
from scrapers.text_gpus import GPU_READERS
from scrapers.text_links import LINK_READERS
from scrapers.text_networks import NETWORK_READERS
from scrapers.text_peaks import PEAK_READERS
from scrapers.text_prices import price_of
from scrapers.text_reading import Reading
from scrapers.text_tables import unfolded

SOURCE = "the listing's own text"
SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


def read_text(slug: str, text: str) -> Iterator[dict[str, object]]:
    """An offer with every key and `why`, for each listing in the text.

    Raises
    ------
    Unreadable
        No text, or a slug that is none.
    """
    slug = slug.lower()
    if not SLUG.fullmatch(slug):
        raise Unreadable(f"{slug[:40]!r} is not a provider's slug")
    if not text.strip() or len(text) > LONGEST:
        raise Unreadable(f"a listing of 1 to {LONGEST} characters is needed")
    for listing in unfolded(text):
        seller = _seller(slug, listing)
        for instance, words in _listings(seller, listing):
            yield _offer(_read(seller, instance, words))


# --- One listing, or several ------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{2,80}")


def _listings(slug: str, text: str) -> list[tuple[str, str]]:
    """Each instance type we know with the words up to the next; else what stands apart."""
    found = _known_in(text, known_types().get(slug, {}))
    if not found:
        return [(_first_name(piece), piece) for piece in _pieces(text)]
    starts = [0] + [start for start, _ in found[1:]] + [len(text)]
    return [(name, text[starts[n] : starts[n + 1]]) for n, (_, name) in enumerate(found)]


def _known_in(text: str, names: Iterable[str]) -> list[tuple[int, str]]:
    """Where each of the names first stands: the longest at its place, "H200 NVL" over "H200"."""
    left, found = text.lower(), []
    for name in sorted(names, key=len, reverse=True):
        places = list(_whole(fold(name).lower(), left))
        if places:
            found.append((places[0], name))
        for start in places:
            left = left[:start] + "\0" * len(fold(name)) + left[start + len(fold(name)) :]
    for name in set(names) - {name for _, name in found}:
        # a name of built words ("gpu-h100-sxm 8gpu-128vcpu") may stand apart
        words = fold(name).lower().split()
        if len(words) > 1 and "-" in words[0] and all(re.search("[0-9]", word) for word in words):
            places = [place for word in words for place in [*_whole(word, left)][:1]]
            found += [(places[0], name)] if len(places) == len(words) else []
    return sorted(found)


def _whole(word: str, text: str) -> Iterator[int]:
    """Where a word stands that is no piece of a longer one."""
    pattern = rf"(?<![A-Za-z0-9._-]){re.escape(word)}(?![A-Za-z0-9_-]|\.[A-Za-z0-9])"
    return (match.start() for match in re.finditer(pattern, text))


_COUNTED_NAME = re.compile(r"[A-Za-z0-9._-]*[A-Za-z0-9]x[0-9]{1,2}(?:-[A-Za-z]+)?")


def _pieces(text: str) -> list[str]:
    """ "2x H100 PCIe ; 2x H100 SXM" and "n9-H100x4 | n9-H100x4-NVLink" are two listings."""
    parts = text.split("|")
    named = [n for n, part in enumerate(parts) if _is_counted_name(part.split(";")[0].strip())]
    if len({parts[n].strip() for n in named}) > 1:
        starts = [0, *named[1:], len(parts)]
        return ["|".join(parts[a:b]) for a, b in pairwise(starts)]
    for ends in (r" vs\.? ", r";(?=[^;|]*\|)"):
        pieces = re.split(ends, text)
        if len(pieces) > 1 and all(gpu_in(piece) for piece in pieces):
            return pieces
    return [text]


def _is_counted_name(part: str) -> bool:
    return bool(_COUNTED_NAME.fullmatch(part)) and gpu_in(part) is not None


# "80GB", "8-GPU", "1-Click"
_QUANTITY = re.compile(
    r"[0-9.,]+-?(?:x[0-9.]+)?[A-Za-z]{1,4}(?:ps|pus?)?|[0-9]{1,2}-[A-Za-z]+", re.IGNORECASE
)
_HEADED = re.compile(
    r"(?:(?:instance|machine|node|server|vm|gpu)[ _-]?)?"
    r"(?:type|name|instance|sku|shape|size|flavou?r|plan|model|platform|preset|product)"
    r"(?: [A-Za-z]{1,12})?: ?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\s|\"'(),;\[\]{}]+")


def _first_name(text: str) -> str:
    """The first word that is built like a type's name, else the text's beginning."""
    stated = re.search(r'"?instance_type"?: ?(?:"([^"|]{2,80})"|([A-Za-z0-9._:/-]{2,80}))', text)
    if stated:
        return stated[1] or stated[2]
    first = text.strip("| ").split("|", maxsplit=1)[0].strip()
    if headed := _HEADED.match(first):
        first = first[headed.end() :]
    for match in _WORD.finditer(first):
        word = match[0].rstrip(":.")
        built = all(re.search(sign, word) for sign in ("[0-9]", "[A-Za-z]", "[._-]"))
        begins = word.split("/")[0]  # "3.2Tb/s" and "2.49/GPU" are rates
        if (
            built
            and re.match("[A-Za-z]|[0-9].*[A-Za-z]", begins)
            and not _QUANTITY.fullmatch(begins)
        ):
            return word[:80]
    return first[:60]


def _seller(slug: str, text: str) -> str:
    """The slug; or, of one that sells nothing we know, the provider whose type the text names."""
    if slug in known_types():
        return slug
    words = {match[0].rstrip(".").lower() for match in _NAME.finditer(text)}
    for provider, types in known_types().items():
        if any(
            name.lower() in words for name in types if re.search(r"[0-9].*[._-]|[._-].*[0-9]", name)
        ):
            return provider
    return slug


def _read(slug: str, instance: str, text: str) -> Reading:
    parts = tuple(part.strip() for part in re.split(r"[|;\n]", text) if part.strip())
    known = {f.attribute: f.value for f in facts_of(slug, instance) if f.value is not None}
    reading = Reading(slug, instance, text, parts, known)
    for reader in (*GPU_READERS, *FABRIC_READERS, *NETWORK_READERS, *LINK_READERS, *PEAK_READERS):
        reader(reading)
    return reading


def _offer(reading: Reading) -> dict[str, object]:
    today = datetime.now(UTC)
    facts = tuple(_facts(reading, today.date()))
    if reading.known:  # what the name alone says, the catalog has weighed
        weighed = _read(reading.provider, reading.instance, reading.instance)
        facts = tuple(
            fact
            for fact in facts
            if fact.attribute not in reading.known or fact.value != weighed.said.get(fact.attribute)
        )
        _other_gpu(reading, weighed)
    bundled = facts_of(reading.provider, reading.instance)
    amount, currency = price_of(reading) or (None, None)
    settled = any(f.attribute == "gpu" and f.value for f in bundled)
    record = OfferRecord(
        provider=reading.provider,
        instance_type=reading.instance,
        price_model=PriceModel.ON_DEMAND,
        collected_at=today,
        source_url=SOURCE,
        facts=facts,
        gpu_candidates=reading.gpu.candidates if reading.gpu and not settled else (),
        native_amount=amount,
        native_currency=currency,
        usd_per_hour=amount if currency == "USD" else None,
        warnings=tuple(dict.fromkeys(reading.warnings)),
    )
    return offer_line(record, bundled) | {"why": list(_why(reading, [*facts, *bundled]))}


def _other_gpu(reading: Reading, weighed: Reading) -> None:
    """A warning where the words beside the name are of a GPU that the catalog denies."""
    known = reading.known.get("gpu")
    if known and reading.slugs and reading.slugs != weighed.slugs and known not in reading.slugs:
        may_be = " or ".join(reading.slugs)
        reading.warnings.append(
            f"the text names {may_be}, but {reading.instance} has {known} by our facts"
        )


def _facts(reading: Reading, day: date) -> Iterator[Fact]:
    subject = f"{reading.provider}/{reading.instance}"
    first = ((name, value, reading.why.get(name, "")) for name, value in reading.said.items())
    for name, value, why in (*first, *reading.also):
        note = WITHHELD if value is None else why
        yield Fact(subject, name, value, Basis.STATED, SOURCE, day, note=note)


# What a buyer asks first: each has a line, known or not.
ASKED = (
    "gpu", "gpu_count", "gpu_memory_gb", "scale_up", "scale_up_domain_gpus",
    "fabric", "fabric_gbits_per_s", "gpudirect_rdma",
)  # fmt: skip


def _why(reading: Reading, facts: list[Fact]) -> Iterator[str]:
    """For each field its value and who says so; then what stays open, and why."""
    found = spec(facts).findings
    for name in (name for name in ATTRIBUTES if name in found):
        fact = found[name].fact
        value = plain(fact.value) if isinstance(fact.value, Decimal) else fact.value
        yield f"{name} = {value}: {_says(reading, fact)}"
        read = reading.said.get(name)
        if read is not None and read != fact.value and fact.source != SOURCE:
            yield f"{name}: the text says {read}, which gives way to that ({reading.why[name]})"
    for name, reason in reading.why.items():
        if name not in found:
            yield f"{name}: {reason}"
    looked = {fact.attribute: fact for fact in facts if fact.value is None}
    for name in ASKED:
        if name in found or name in reading.why:
            continue
        nothing = f"{name}: not known: nothing in the text says it, and no rule follows"
        if name in looked:
            fact = looked[name]
            yield f"{nothing}; our facts of {reading.instance}: {fact.note} ({fact.source})"
        else:
            yield nothing


def _says(reading: Reading, fact: Fact) -> str:
    if fact.source == SOURCE:
        return f"the text: {fact.note}"
    if fact.source.startswith("rule: ") and not fact.subject:
        return f"follows by the {fact.source}"
    whose = "the GPU's own data" if fact.subject in gpus() else f"our facts of {reading.instance}"
    return f"{whose}: {fact.basis}, {fact.source}"
