"""Where in a running text a GPU is named, how many of it, and which figures are its memory."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import cache

from catalog.facts import gpus
from scrapers.gpu_names import skus_of
from scrapers.quantities import count, gigabytes, promised


@dataclass(frozen=True, slots=True)
class Words:
    """A GPU in a text, as printed; `names` are what `gpu_names.identify` reads.

    `names` are several where the text leaves it open ("H100 or H200"), and none where it names a
    card that is no SKU of ours ("RTX 4090 Laptop").
    """

    names: tuple[str, ...]
    count: Decimal | None
    printed: str
    near: str  # the words behind it, up to the next bar or comma
    nears: tuple[str, ...] = ()  # behind each mention of it


NUMBERS = {
    "half": "0.5", "quarter": "0.25", "one": "1", "two": "2", "dual": "2", "four": "4",
    "quad": "4", "eight": "8", "sixteen": "16",
}  # fmt: skip
# Not after another figure, a letter or a point; an x may stand before ("160x1792x8gaudi3").
_COUNT = (
    r"(?:(?<![0-9A-WYZa-wyz.,/])([0-9]{1,3}/[0-9]{1,2}|[0-9]{0,3}\.[0-9]{1,4}|[0-9]{1,3}"
    rf"|{'|'.join(NUMBERS)})(?: of)?(?: an?)?( ?(?:x|\*)[ _-]?|[ _-]?))?"
)
_MAKER = r"(?:(?:nvidia|amd|intel|habana|instinct|geforce|tesla|quadro(?! ?rtx)|radeon)[ _-]?){0,3}"
_BOARD = r"(?:hgx|dgx)[ _-]?"
_VARIANT = re.compile(r"[- ]?(?:d|laptop|mobile|cnx|super|ti)(?![a-z0-9])", re.IGNORECASE)
_OR = re.compile(r" ?(?:/|or |oder |ou )[ ]?", re.IGNORECASE)
MENTIONS = 4  # of one chip in a text, that are looked at for its count and memory


def gpu_in(text: str) -> Words | None:
    """The first GPU that a text names: "8x H100 (80 GB SXM5)", "n3-H100-SXM5x8", "2a100p"."""
    mentions = list(_pattern().finditer(text))
    if not mentions:
        return None
    found = mentions[0]
    board, chip = found[3], found[4]
    near = _near(text, found.end())
    printed = (found[0] + near).strip()[:48]
    if variant := _VARIANT.match(near):  # counted, but no card of ours
        return Words(
            (), _before(found[1], found[2]) or _after(near[variant.end() :]), printed, near
        )
    forms = forms_of(re.sub(r"[-_ ]", "", chip.lower()))
    form = [] if forms == {"superchip"} else _form(f"{board or ''}|{near}")
    form = form or [word for word in _form_of_all(text) if _sold_as(forms, word)]
    same = [m for m in mentions if m[4].lower() == chip.lower()][:MENTIONS]
    counts = (
        _before(m[1], m[2]) or _after(_near(text, m.end()))
        for m in same
        if m[1] is None or promised(text[max(0, m.start() - 24) : m.start()])
    )
    names = [chip]
    if (other := _OR.match(near)) and (second := _pattern().match(near, other.end())):
        names.append(second[4])
    others = [m for m in mentions if _is_another(m, found, text)]
    names += [m[4] for m in others if m[4] not in names]
    return Words(
        tuple(" ".join([re.sub(r"[-_ ]", " ", name), *form]) for name in names),
        None if any(m[1] != found[1] for m in others) else next(filter(None, counts), None),
        printed,
        near,
        tuple(_near(text, m.end()) for m in same),
    )


_COMPARED = re.compile(r"(?:than|vs\.?|versus|unlike|over|to|of) $", re.IGNORECASE)


def _is_another(mention: re.Match[str], first: re.Match[str], text: str) -> bool:
    """True of "4x L4" in "2x L40S or 4x L4": another chip, counted as the first is."""
    times = all((m[2] or "").strip(" _-") for m in (first, mention))
    other = mention[4].lower() != first[4].lower()
    return times and other and not _COMPARED.search(text[: mention.start()][-12:])


def _near(text: str, end: int) -> str:
    """The words behind a name, up to the next bar or comma."""
    return re.split(r"[|;\n+]|, | with | and ", text[end : end + 64])[0]


@cache
def _pattern() -> re.Pattern[str]:
    """Any chip of ours, its letters and figures apart or together, longest first."""
    chips = sorted({sku.chip for sku in skus_of(gpus())} | {"a6000"}, key=len, reverse=True)
    spelled = "|".join(_spelled(chip) for chip in chips)
    # "p4d" is no P4; "h100x8", "h100ib" and "a100p" are what they look like
    after = r"(?![0-9])(?=$|[^A-Za-z]|x[0-9]|ib(?![a-z])|p(?![a-z])|sxm|pcie|nvl|gpu)"
    return re.compile(
        f"{_COUNT}(?<![A-WYZa-wyz])({_BOARD})?{_MAKER}(?:{_BOARD})?({spelled}){after}",
        re.IGNORECASE,
    )


@cache
def forms_of(chip: str) -> set[str]:
    """The forms that a chip is sold in; a superchip has one, whatever a text calls it."""
    return {sku.form for sku in skus_of(gpus()) if sku.chip == chip}


def _sold_as(forms: set[str], word: str) -> bool:
    return any(form.startswith(word.lower()) for form in forms)


_PIECES = re.compile(r"(rtx|gtx|pro|quadro|sff|ada|super|titan|gaudi|ti(?=$|super))")


def _spelled(chip: str) -> str:
    return r"[-_ ]?".join(piece for piece in _PIECES.split(chip) if piece)


# --- How many ---------------------------------------------------------------------------------

MOST = 128
LIKELY_MOST = 16  # in one instance, where only a bare number says it


def _before(number: str | None, times: str | None) -> Decimal | None:
    """ "8x H100", "0.5x", "1/2", "eight"; "80-h100" is no count without a sign of times."""
    if not number:
        return None
    gpus_ = count(NUMBERS.get(number.lower(), f"0{number}" if number[0] == "." else number))
    if gpus_ is None or not 0 < gpus_ <= MOST:
        return None
    joined = (times or "") in ("-", "_", "")
    return None if joined and gpus_ > LIKELY_MOST else gpus_


_BESIDE = (
    r"(?:[-_ ,():.]{0,2}(?:sxm[2-6]?|pcie(?: ?(?:gen ?)?[345](?:\.0)?)?|nvl|oam|hgx|gpus?|nvlink|ib"
    r"|[0-9]{2,4} ?(?:gib|gb|g)|hbm[0-9]e?|gddr[0-9]x?|blackwell|hopper|ampere|ada|server|vram"
    r"|edition|workstation|tensor|core|roce|generation|nc|v2)(?![0-9])){0,8}"
)
_AFTER = re.compile(
    rf"{_BESIDE}[)\]]?[-_ ,:.(\[]{{0,3}}(?:(?:x|\*) ?([0-9]{{1,3}})(?![0-9.]|x| ?[gt]i?b)"
    r"|(?<=:)([0-9]{1,2})(?![0-9.]| ?[gt]i?b)|(?<=: )([0-9]{1,2})(?=$|[|},;])"
    r"|(?<=-)([0-9]{1,2})-[0-9]{2,3}G"  # "L40S-4-48G"
    r"|(?<=[-_ ])([0-9]{1,2})x(?=$|[^0-9A-Za-z ])"  # "gb300-4x"
    r"|(?<= )([0-9]{1,2}) ?(?:x|\*) ?(?=[0-9]{2,3} ?GB)"  # "B200 8x 180GB"
    r"|\.([0-9]{1,2})x?(?=$|[^0-9A-Za-z.])"  # "H100.8", "h100-80gb-sxm-ib.8x"
    r"|([0-9]{1,2}) ?(?:枚|基|台|卡|张|張)|([0-9]{1,2})-gpus?(?![a-z]))",
    re.IGNORECASE,
)


def _after(near: str) -> Decimal | None:
    found = _AFTER.match(near)
    if found is None:
        return None
    number = next(group for group in found.groups() if group)
    lanes = re.search(r"pcie[^|]{0,10}$", near[: found.start(found.lastindex or 0)], re.IGNORECASE)
    if number == "16" and lanes:
        return None
    return Decimal(number) if 0 < int(number) <= MOST else None


_GPUS = re.compile(
    r"(?<![0-9A-Za-z./])(?<![0-9]-)([0-9]{1,2}/[0-9]{1,2}|0?\.[0-9]{1,4}|[0-9]{1,2})[- ]?"
    r"(?:v?gpus?(?![a-z0-9])(?! ?(?:memory|ram|type|mem))|(?:枚|基|卡|张|張))",
    re.IGNORECASE,
)


_ALONE = re.compile(
    r"(?:^|[|;\"]) ?(?:x ?([0-9]{1,2})|([0-9]{1,2}) ?x) ?(?=$|[|;\"])", re.IGNORECASE
)  # "| x8 |"


def gpus_in(text: str) -> Decimal | None:
    """ "8 GPUs", "1gpu-16vcpu", "8-GPU", "1/3 GPU", of one instance: not "up to 512 GPUs"."""
    rack = re.search(r"NVL([0-9]{2})(?![0-9])", text, re.IGNORECASE)
    for found in _GPUS.finditer(text):
        number = count(found[1] if found[1][0] != "." else f"0{found[1]}")
        whole = number is not None and (
            number <= LIKELY_MOST or bool(rack and number == int(rack[1]))
        )
        if whole and promised(text[max(0, found.start() - 24) : found.start()]):
            return number
    alone = _ALONE.search(text)
    return Decimal(alone[1] or alone[2]) if alone else None


# --- Of which form ----------------------------------------------------------------------------

_FORM = re.compile(
    r"(?<![A-Za-z])(sxm[2-6]?|pcie|nvl|oam|hgx|dgx)(?![A-Za-z]|(?<=l)[0-9])", re.IGNORECASE
)
_LANES = re.compile(
    r" ?(?:gen ?)?[345](?:\.0)? ?(?:x ?16|lanes|host|bus|switch|slots?)|[^|,;]{0,12}(?:bandwidth"
    r"|GB/s)",
    re.IGNORECASE,
)


def _form(near: str) -> list[str]:
    """The form factor beside a name; "a100p" is PCIe, Verda's "H200.141S" is SXM."""
    if re.match(r"\|p(?![a-z])", near, re.IGNORECASE):
        return ["PCIe"]
    if re.match(r"\|\.[0-9]{2,3}S(?![A-Za-z])", near):
        return ["SXM"]
    found = _FORM.search(near)
    return [_sold(found[1])] if found else []


def _form_of_all(text: str) -> list[str]:
    """Where all that the text names are one; a host's PCIe is no form, NVSwitch is SXM's alone."""
    if re.search(r"(?<!no )(?<!without )NVSwitch", text, re.IGNORECASE):
        return ["SXM"]
    forms = {
        _sold(found[1]).lower()
        for found in _FORM.finditer(text)
        if not (found[1].lower() == "pcie" and _LANES.match(text, found.end()))
    }
    return list(forms) if len(forms) == 1 else []


def _sold(form: str) -> str:
    return "SXM" if form.lower() in ("hgx", "dgx") else form


# --- With what memory -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Memory:
    """A figure that is memory of GPUs: of one, of all together, or not said which. [GB]"""

    gb: Decimal
    of: str  # "each", "all" or ""
    printed: str


_FIGURE = re.compile(
    r"(?<![0-9.A-WYZa-wyz])([0-9]{1,4}|[0-9],[0-9]{3}) ?(GB|GiB|G|MiB|TB)"
    r"(?=$|[^A-Za-z/0-9.]|\.(?![0-9])|x[0-9])",
    re.IGNORECASE,
)
_MIB = re.compile(
    r"(?:gpu[-_ ]?(?:memory|ram)|MiB)\"?: ?([0-9]{4,6})|([0-9]{4,6}) ?MiB", re.IGNORECASE
)
_VRAM = re.compile(r"(?<![0-9A-Za-z.])([0-9]{1,4})-?vram(?![a-z])", re.IGNORECASE)  # "180g-48vram"
_HEADING = re.compile(
    r"(?:accelerator|gpu)[- ]memory ?\((GB|GiB|MiB)\)\"?:? ?([0-9]{1,6})", re.IGNORECASE
)
_UNITS = {"gb": "GB", "gib": "GiB", "g": "GB", "mib": "MiB", "tb": "TB"}
# The host's by the word behind it, whatever stands before: "A100 PCIe 80GB RAM", "80GB NVMe".
_HOSTS = re.compile(
    r" ?\(?(?:of )?(?:(?:system|host|cpu|main|local|boot|root|os|data|ephemeral|scratch|attached"
    r"|block|nvme|ssd|persistent|server|ecc|registered) ?){0,3}"
    r"(?:ram|d?dr[45]|ddr[45]?|lpddr[45x]*|dimms?|disks?|ssds?|nvme|hdds?|storage|volumes?|swap|boot"
    r"|drives?|(?<=system )memory|(?<=host )memory|(?<=cpu )memory|(?<=main )memory)(?![a-z])",
    re.IGNORECASE,
)
_NOT_THE_GPUS = re.compile(
    r" ?(?:of )?(?:memory|infiniband|ib|ethernet|roce|ndr|hdr|rdma|nics?|network|bandwidth)"
    r"(?![a-z])",
    re.IGNORECASE,
)
_OTHERS_BEFORE = re.compile(
    r"(?:(?<!v)(?<!gpu[-_ ])ram|disk|ssd|storage|nvme|infiniband|ib|roce|ethernet|rdma|[nhx]dr"
    r"|v?cpus?)[-:=, ]*$",
    re.IGNORECASE,
)
# "A100 40GB/80GB", "40 or 80 GB"
_ALTERNATIVES = re.compile(
    r"(?<![0-9.])[0-9]{1,4} ?(?:GB|GiB|G)? ?(?:/|or|oder|ou) ?[0-9]{1,4} ?(?:GB|GiB|G)"
    r"(?![a-z0-9/])",
    re.IGNORECASE,
)


def alternatives(text: str) -> list[tuple[int, int]]:
    """Where two memories stand of which it has one; not "16GB / 64GB RAM"."""
    found = _ALTERNATIVES.finditer(text)
    return [m.span() for m in found if not _HOSTS.match(text, m.end())]


# The word of "2TB RAM 80GB" has its figure; in "80GB RAM 2TB" it is either's.
TWO_FIGURES = re.compile(
    r"(?<![0-9.,])(?<!RAM )(?<!RAM: )([0-9]{1,5}) ?([GT])i?B RAM ([0-9]{1,5}) ?([GT])i?B",
    re.IGNORECASE,
)


def is_either(found: re.Match[str]) -> bool:
    """True where a host's word stands between two figures and may be of the later, larger one."""
    first, later = (
        gigabytes(Decimal(n), f"{unit.upper()}B")
        for n, unit in (found.group(1, 2), found.group(3, 4))
    )
    return first < later


_GPU_MEMORY = (
    r"vram|gpu[- _]?(?:memory|ram|mem)|accelerator[- _]?memory|hbm[0-9]?e?|gpu-speicher"
    r"|mémoire gpu|gpuメモリ|video memory|memory per gpu|gpu"
)
_EACH = re.compile(
    r" ?[(]?(?:per|each|/|je|pro|par|あたり) ?(?:gpu|card|accelerator)?", re.IGNORECASE
)
_ALL = re.compile(r"total|combined|aggregate|gesamt|合計|in all", re.IGNORECASE)


def memories_in(text: str, words: Words) -> Iterator[Memory]:
    """Figures that may be the GPU's memory: by a heading, beside its name, by a word beside it."""
    if heading := _HEADING.search(text):
        gb = gigabytes(Decimal(heading[2]), _UNITS[heading[1].lower()])
        yield Memory(gb, "", heading[0])
    if mebibytes := _MIB.search(text):
        gb = gigabytes(Decimal(mebibytes[1] or mebibytes[2]), "MiB")
        yield Memory(gb, "each", mebibytes[0])
    if slice_ := re.match(r"\.([0-9]{2,3})S(?![A-Za-z])", words.near):
        yield Memory(Decimal(slice_[1]), "each", slice_[0])
    if vram := _VRAM.search(text):
        yield Memory(Decimal(vram[1]), "", vram[0])
    for near in words.nears:
        yield from _figures(near, beside=True)
    for part in re.split(r"[|;\n]|, ", text):
        yield from _figures(part, beside=False)


def _figures(part: str, *, beside: bool) -> Iterable[Memory]:
    apart = {m.start(3) for m in TWO_FIGURES.finditer(part) if not is_either(m)}
    either = alternatives(part)
    for found in _FIGURE.finditer(part):
        if any(start <= found.start() < end for start, end in either):
            continue
        before, after = part[: found.start()][-24:], part[found.end() :][:24]
        gpus_own = re.match(
            rf" ?\(?(?:of |total |aggregate )?(?:{_GPU_MEMORY})", after, re.IGNORECASE
        ) or re.search(rf"(?:{_GPU_MEMORY}|sxm[2-6]?|pcie|oam|nvl)[\"): ]*$", before, re.IGNORECASE)
        of_each = _EACH.match(after)
        if _HOSTS.match(after) or (_NOT_THE_GPUS.match(after) and not gpus_own):
            continue
        if _OTHERS_BEFORE.search(before) and found.start() not in apart:
            continue
        of_gpu = (
            of_each and "gpu" in of_each[0].lower() and found[2].upper() != "G"
        )  # "400G per GPU"
        if not beside and not gpus_own and not of_gpu:
            continue
        of = "each" if of_each else "all" if _ALL.search(before + after) else ""
        gb = gigabytes(Decimal(found[1].replace(",", "")), _UNITS[found[2].lower()])
        yield Memory(gb, of, found[0])
