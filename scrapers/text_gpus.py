"""Readers of which GPUs an instance has, how many, and with what memory."""

import re
from decimal import Decimal

from catalog.records import FabricKind, ScaleUp
from scrapers.azure_sizes import is_rdma_capable, size
from scrapers.gpu_names import (
    Named,
    UnknownGpu,
    form_of,
    identify,
    in_own_words,
    memory_of,
    share_of,
)
from scrapers.quantities import NOMINAL_TOLERANCE, count, distance_from_nominal, gigabytes, promised
from scrapers.text_gpu_words import (
    LIKELY_MOST,
    NUMBERS,
    TWO_FIGURES,
    Memory,
    Words,
    alternatives,
    gpu_in,
    gpus_in,
    is_either,
    memories_in,
)
from scrapers.text_reading import Reading, after, number_of, value_of


def _azure_size(reading: Reading) -> None:
    """A size of a known Azure family says its GPU, and how many by its vCPUs."""
    found = size(reading.instance) if reading.provider == "azure" else None
    if found is None:
        return
    why = f"{reading.instance} is of a family whose sizes Azure lists ({found.source})"
    reading.say("gpu_count", found.gpu_count, why)
    reading.gpu = identify(found.gpu)
    reading.say("scale_up", found.scale_up, "PCIe cards of this family are bridged in pairs")
    if is_rdma_capable(reading.instance):
        reading.say("fabric", FabricKind.INFINIBAND.value, "r in an Azure name is RDMA: InfiniBand")


_HEADINGS = (
    "instance-gpu-count", "num_gpus", "gpus[_ ]per[_ ](?:node|vm|instance)", "gpu[_ ]count",
    "number[_ ]of[_ ]gpus", "accelerators", "gpus", "count", "quantity", "qty",
    r"(?:nvidia|amd)\.com/gpu", "anzahl(?: (?:der )?gpus?)?", "nombre de gpus?", "GPU(?:数|枚数)",
)  # fmt: skip


def _counts(reading: Reading) -> None:
    """How many GPUs: a heading, beside the name, or "8 GPUs"; 0 is a share, by its memory."""
    reading.words = words = gpu_in(reading.text)
    if node := _gpus_of_a_node(reading.text):
        each, why = node
        reading.say("gpu_count", each, why)
        reading.unknown("gpu_count", why)
        if each is None:
            return
    headed = after(reading, *_HEADINGS)
    number = r"[0-9]{1,4}(?:/[0-9]{1,2}|\.[0-9]{1,4})?(?![0-9.]| ?[gt]i?b| ?x ?[0-9])"
    found = re.match(number, headed[1], re.IGNORECASE) if headed else None
    stated = count(found[0]) if found else None
    if stated and headed:
        reading.say("gpu_count", stated, f'"{headed[0].strip()}" is the count')
    if stated == 0:
        return
    if words and words.count:
        reading.say("gpu_count", words.count, f'"{words.printed}" counts the GPUs')
    if plainly := gpus_in(reading.text):
        reading.say("gpu_count", plainly, f'"{plainly} GPUs"')
    if words and (named := _gpus_by(reading.instance, reading.provider, reading.text)):
        reading.say("gpu_count", named, f'the name "{reading.instance}", or "GB x", counts them')


# "18 x GB200 NVL72 trays (72 GPUs)": what is counted first is nodes
_NODES = re.compile(
    r"(?<![0-9A-Za-z.-])([0-9]{1,4}|one|two|four|eight) ?(?:x|\*)? ?(?:[A-Za-z][\w.-]{0,20} ){0,5}?"
    r"((?:compute )?trays|racks?|nodes|servers|systems|machines|hosts|boxes|DGX(?! cloud))"
    r"(?![a-z])"
    r"([^|;]*?(?<![0-9A-Za-z.])([0-9]{1,5}) (?:\w+ )?gpus(?![a-z]))?",
    re.IGNORECASE,
)
# "24x A100 across 3 nodes": all of them are counted
_ACROSS = re.compile(
    r"(?:(?<![a-z])(across|over|on|in) (?:all )?|\()([1-9][0-9]{0,3}) (?:\w+ )?"
    r"(?:nodes|servers|hosts|machines|trays|systems)(?![a-z])",
    re.IGNORECASE,
)
_ALL_OF_THEM = re.compile(
    r"(?<![0-9A-Za-z.,-])([0-9]{1,5}) ?(?:x(?![0-9])|\*|(?:\w+ ){0,3}?gpus)", re.IGNORECASE
)
TRAY_GPUS = 4  # of an NVL72 rack


def _gpus_of_a_node(text: str) -> tuple[Decimal | None, str] | None:
    """How many GPUs each of the counted nodes has, and why; None where none are counted."""
    if across := _ACROSS.search(text):
        before = re.split("[|;]", text[max(0, across.start() - 60) : across.start()])[-1]
        counted = _ALL_OF_THEM.search(before)
        each = Decimal(counted[1]) / int(across[2]) if counted else Decimal(0)
        stated = across[1] or (counted and int(counted[1]) > LIKELY_MOST)
        if counted and stated and each in range(1, LIKELY_MOST + 1):
            return (
                each,
                f'"{before}{across[0]}": {counted[1]} GPUs on {across[2]} are {each:f} each',
            )
    found = _NODES.search(text)
    if found is None or found[1] == "0":
        return None
    nodes, word = int(NUMBERS.get(found[1].lower(), found[1])), found[2].lower()
    rack = re.search("NVL ?(36|72)(?![0-9])", text, re.IGNORECASE)
    each = Decimal(found[4] or 0) / nodes
    most = int(rack[1]) if rack and word.startswith("rack") else LIKELY_MOST
    if found[4] and promised(text[: found.start(4)][-24:]) and each in range(1, most + 1):
        return each, f'"{found[0]}": {found[4]} GPUs in {nodes} are {each:f} each'
    if rack and word.endswith("trays"):
        return Decimal(TRAY_GPUS), f'"{found[0]}": a tray of the rack has {TRAY_GPUS} GPUs'
    if rack and word.startswith("rack"):
        return Decimal(rack[1]), f'"{found[0]}": such a rack has {rack[1]} GPUs'
    if word == "dgx":
        return None, f'"{found[0]}" counts systems: their GPUs are not said'
    return None


_NAMED = re.compile(r"[A-Za-z][A-Za-z0-9-]*?(?:-([0-9]{1,2})x|x([0-9]{1,2}))(?:-.*)?")
_GIGABYTES = re.compile(
    r"(?:gpu memory|vram|gpu ram|\|)[: ]*[0-9]{2,3} ?GB ?(?:\*|x) ?([0-9]{1,2})(?![0-9x])",
    re.IGNORECASE,
)


def _gpus_by(name: str, provider: str, text: str) -> Decimal | None:
    """Where no word counts them: the type's name ("gz200-4x", "a9-megagpu-8g"), "96GB*8"."""
    if provider == "gcp" and (gcp := re.search(r"-([0-9]{1,2})g$", name)):
        return Decimal(gcp[1])
    found = _NAMED.fullmatch(name) or _GIGABYTES.search(text)
    number = int(next(group for group in found.groups() if group)) if found else 0
    return Decimal(number) if 0 < number <= LIKELY_MOST else None


def _gpu(reading: Reading) -> None:
    """Which GPU: driver's names whole, else chip, form and memory wherever they stand."""
    if reading.gpu is None:
        stated = value_of(reading, "gpu_name", "instance-gpu-name", "gpu-name", r"gpu\.product")
        parts = map(_uncounted, reading.parts)
        own = [part for part in parts if in_own_words(part, reading.provider)]
        text = "" if alternatives(reading.text) else _uncounted(reading.text)
        for whole in filter(None, (stated, *own, text)):
            if reading.gpu is None or reading.gpu.slug is None:
                reading.gpu = _identified(reading, whole) or reading.gpu
    words = reading.words
    if (reading.gpu is None or reading.gpu.slug is None) and words:
        reading.gpu = _in_words(reading, words) or reading.gpu
    _named(reading, reading.gpu)


def _uncounted(part: str) -> str:
    return re.sub(r"^[0-9]{1,2} ?x ?| ?[x:] ?[0-9]{1,2}$", "", part, flags=re.IGNORECASE)


def _identified(reading: Reading, words: str, gb: Decimal | None = None) -> Named | None:
    try:
        return identify(words, gb, reading.provider)
    except UnknownGpu:
        return None


def _in_words(reading: Reading, words: Words) -> Named | None:
    """Of chip and form, narrowed by the first figure of memory that such a GPU has."""
    if not words.names:
        reading.unknown("gpu", f'"{words.printed}" is none of the cards we know')
        return None
    read = [_identified(reading, name) for name in words.names]
    slugs = [slug for named in read if named for slug in _slugs(named)]
    if not slugs:
        reading.unknown("gpu", f'"{words.printed}" names no card of that form')
        return None
    memories = list(memories_in(reading.text, words))
    gb, reading.memory = _of_one(memories, slugs, reading.gpu_count)
    if len(read) > 1:
        return Named(None, tuple(dict.fromkeys(slugs)), "the text names two GPUs")
    return _identified(reading, words.names[0], gb)


def _slugs(named: Named) -> tuple[str, ...]:
    return (named.slug,) if named.slug else named.candidates


PART = Decimal("0.7")  # of a card's memory: less than that is a share of it


def _of_one(
    memories: list[Memory], slugs: list[str], gpu_count: object
) -> tuple[Decimal | None, str]:
    """Memory of one GPU, as printed: what such a GPU has, or so many of them have together."""
    many = gpu_count if isinstance(gpu_count, Decimal) and gpu_count > 1 else None
    for memory in memories:
        shares = [] if memory.of == "all" else [memory.gb]
        if many and memory.of != "each":
            shares.append(memory.gb / many)
        for gb in shares:
            if any(distance_from_nominal(gb, memory_of(s)) < NOMINAL_TOLERANCE for s in slugs):
                return gb, memory.printed
    first = memories[0] if memories else None
    if first is None or first.of == "all" or _is_part(first, slugs, gpu_count):
        return None, ""
    if gpu_count is None and any(first.gb in _sums(slug) for slug in slugs):
        return None, ""
    return first.gb, first.printed


def _sums(slug: str) -> range:
    """The memory of two and more such GPUs together. [GB]"""
    return range(2 * memory_of(slug), LIKELY_MOST * memory_of(slug) + 1, memory_of(slug))


def _is_part(memory: Memory, slugs: list[str], gpu_count: object) -> bool:
    """A fraction is rented, or less memory than any such card has and no count: a share of one."""
    if isinstance(gpu_count, Decimal):
        return gpu_count < 1
    return memory.of == "each" and memory.gb < min(memory_of(slug) for slug in slugs) * PART


def _named(reading: Reading, named: Named | None) -> None:
    if named is None:
        return
    printed = reading.words.printed if reading.words else reading.instance
    if named.slug:
        name = reading.words.names[:1] if reading.words else ()
        read = f", read as {' '.join(name)}" if name else ""
        memory = f' with "{reading.memory}"' if reading.memory else ""
        reading.say("gpu", named.slug, f'"{printed}"{read}{memory}, fits this one only')
    else:
        reading.unknown("gpu", f"it may be {' or '.join(named.candidates)}: the text says no more")
        sizes = {memory_of(slug) for slug in named.candidates}
        if len(sizes) == 1 and not (named.note or reading.known or _is_slice(reading)):
            reading.say("gpu_memory_gb", Decimal(sizes.pop()), "every GPU that it may be has it")
        forms = {form_of(slug) for slug in named.candidates}
        if len(forms) == 1 and not reading.known:
            reading.say("form_factor", forms.pop(), "every GPU that it may be has it")
    if named.note:
        reading.warnings.append(named.note)


# --- A share of a card ------------------------------------------------------------------------

_MIG = re.compile(r"(?<![0-9A-Za-z])([1-7])g[._-]?([0-9]{1,3})gb(?![a-z])", re.IGNORECASE)
_PROFILE = re.compile(r"(?<=[A-Za-z0-9])-([0-9]{1,2})[ABCQ](?![A-Za-z0-9])")


def _is_slice(reading: Reading) -> bool:
    return bool(_MIG.search(reading.text))


def _share(reading: Reading) -> None:
    """A slice by MIG or a vGPU profile, or a count of 0 or none with a part of its memory."""
    if mig := _MIG.search(reading.text):
        why = f'"{mig[0]}" is a MIG slice: {mig[1]} of 7 parts of the compute, {mig[2]} GB'
        reading.said.pop("gpu_count", None)
        reading.unknown("gpu_count", f"{why}: not one share of a GPU")
        reading.said["gpu_count"] = None
        reading.said.pop("gpu_memory_gb", None)
        reading.say("gpu_memory_gb", Decimal(mig[2]), why)
        reading.say("scale_up", ScaleUp.NONE.value, "a MIG slice has no peers")
        reading.say("scale_up_domain_gpus", 1, "a MIG slice has no peers")
        return
    slug = reading.gpu.slug if reading.gpu else None
    if slug is None:
        return
    whole, share = Decimal(memory_of(slug)), reading.said.get("gpu_count")
    if isinstance(share, Decimal) and share < 1:
        reading.say("gpu_memory_gb", _slice_gb(reading, whole, share), "the slice's own memory")
    elif share is None and (gb := _printed_gb(reading)) and 0 < gb < whole * PART:
        share = share_of(Named(slug, ()), gb)
        reading.say("gpu_count", share, f"{gb:.0f} GB is {share} of a card of {whole} GB")
        reading.say("gpu_memory_gb", round(whole * (share or 1)), "the slice's own memory")


def _printed_gb(reading: Reading) -> Decimal | None:
    """Memory under a heading, or a vGPU profile's: "A10-8Q" has 8 GB."""
    near = reading.words.near if reading.words else ""
    if profile := _PROFILE.match(f"-{near}"[1:]) or _PROFILE.search(f"0{near}"):
        return Decimal(profile[1])
    stated = number_of(reading, "instance-gpu-memory", "accelerator-memory", "gpu_ram")
    return None if stated is None else gigabytes(stated, "MiB" if stated > 1000 else "GB")


def _slice_gb(reading: Reading, whole: Decimal, share: Decimal) -> Decimal:
    """The printed figure that is about the share's part of the card, else that part."""
    printed = [m.gb for m in memories_in(reading.text, reading.words)] if reading.words else []
    printed.append(_printed_gb(reading) or Decimal(0))
    printed += [Decimal(found[1]) for found in re.finditer(r"([0-9]{1,3}) ?GB", reading.text)]
    part = whole * share
    near_part = [gb for gb in printed if gb and abs(gb - part) <= part / 5]
    return Decimal(round(near_part[0])) if near_part else round(part, 2)


# --- The host ---------------------------------------------------------------------------------

_VCPUS = re.compile(
    r"(?<![0-9.])([0-9]{1,4}) ?-?v-?(?:cpus?|cores?)(?![a-z])|vcpus?\"?: ?([0-9]{1,4})",
    re.IGNORECASE,
)
_RAM = re.compile(
    r"(?:(?<![0-9A-Za-z.])(?P<modules>[0-9]{1,2}) ?x ?)?"
    r"(?<![0-9.,])([0-9]{1,2},[0-9]{3}|[0-9]{1,5}(?:\.[0-9])?) ?(GB|GiB|TB|TiB) ?(?:of )?"
    r"(?:(?:system|host|cpu|main|ecc|server) ){0,2}(?:memory|ram|ddr[45])(?![a-z])"
    r"(?! ?(?:per|/) ?gpu)"
    r"|(?<![a-z])(?<!gpu[-_ ])ram ?[:=]? ?([0-9]{1,5}) ?(GB|GiB|TB|TiB)",
    re.IGNORECASE,
)
_BYTES = {"gb": "GB", "gib": "GiB", "tb": "TB", "tib": "TiB"}


def _host(reading: Reading) -> None:
    """ "128 vCPUs" and "2 TB RAM"; plain "memory" may be the GPU's, and says nothing."""
    if vcpus := _VCPUS.search(reading.text):
        reading.say("vcpus", Decimal(vcpus[1] or vcpus[2]), f'"{vcpus[0]}"')
    two, ram = TWO_FIGURES.search(reading.text), _RAM.search(reading.text)
    if two and is_either(two):
        reading.unknown("ram_gb", f'"{two[0]}" may be either of both')
    elif ram and not re.search(r"(?i)[0-9] ?[gt]i?b (?:of )?memory$", ram[0]):
        amount, unit = (ram[2], ram[3]) if ram[2] else (ram[4], ram[5])
        gb = gigabytes(Decimal(amount.replace(",", "")), _BYTES[unit.lower()])
        gb *= int(ram["modules"] or 1)  # "32x 64GB DDR5"
        reading.say("ram_gb", round(gb, 2), f'"{ram[0]}"')


GPU_READERS = (_azure_size, _counts, _gpu, _share, _host)
