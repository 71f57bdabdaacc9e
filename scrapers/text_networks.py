"""Readers of what joins instances: the technology, links x rate, the front end apart.

Each knows a *kind* of wording, never an instance. A rate belongs to what its own clause names:
RDMA, InfiniBand or a scale-out network is the fabric; the public or front-end network and plain
Ethernet are not; disks, memory and NVLink are no network. What no clause names stays open.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from enum import Enum

from catalog.records import FabricKind
from scrapers.quantities import Bandwidth, bandwidths
from scrapers.text_claims import Stance, claim, clauses
from scrapers.text_fabrics import FASTEST_PORT, JOINING, LARGEST_NODE, most_per_gpu, port_of
from scrapers.text_reading import Reading, after, number_of

FASTEST_FRONT_END = 200  # [Gb/s], of a rate that no word gives to a network
FASTEST_BESIDE = 400  # [Gb/s], the same where another rate is the fabric's
MOST_NICS = 64
MOST_IN_FRONT = 4  # ports of a plain Ethernet that are a front end


class Of(Enum):
    """Whose rate it is."""

    FABRIC = 1
    FRONT = 2
    ETHERNET = 3
    OTHER = 4


_DISKS = r"nvme|ssd|disks?|storage|iops|(?<![a-z])read|write|ebs|lustre|file ?system"
_INSIDE = r"nvlink|nvswitch|infinity fabric|xgmi|internal|on.package|gpu.to.gpu|p2p|peer|bisection"
_FRONT = r"front.?end|public|internet(?!work)|external|uplink|management|north.south|vpc"
# The first that a clause names, and does not deny, speaks: "Ethernet (no RDMA)" is Ethernet.
_WORDS = (
    (Of.OTHER, rf"{_DISKS}|{_INSIDE}"),
    (Of.FRONT, _FRONT),
    (Of.FABRIC, JOINING),
    (Of.ETHERNET, r"ethernet|gbe(?![a-z])|lan(?![a-z])"),
    (Of.FABRIC, r"connectx"),
    (Of.OTHER, r"hbm|memory|pcie"),  # may stand beside: "H100 PCIe at 100 Gbps Ethernet"
)


def _of(clause: str) -> Of | None:
    """The network that a clause speaks of."""
    for of, words in _WORDS:
        if of is not Of.FABRIC:
            named = re.search(words, clause, re.IGNORECASE) is not None
        else:
            said = claim(clause, words)
            named = said is not None and said.stance is not Stance.NO
        if named:
            return of
    return None


# --- Counts of adapters -----------------------------------------------------------------------


def _efa(reading: Reading) -> None:
    """EFA interfaces are the fabric's NICs; all cards, or the whole bandwidth, are not."""
    found = after(
        reading, "MaxEfaInterfaces", "MaximumEfaInterfaces", r"(?:vpc\.amazonaws\.com/)?efa"
    )
    counted = found and re.match(r"([0-9]{1,2})(?![0-9.,]| ?[x*gmt])", found[1], re.IGNORECASE)
    nics = int(counted[1]) if counted else 0
    if not 0 < nics <= MOST_NICS:
        return
    why = f"{nics} EFA interfaces are its fabric NICs, however many cards it has"
    reading.say("fabric", FabricKind.EFA.value, "EFA interfaces are named")
    reading.say("fabric_nics", nics, why)
    total = _megabits(reading)
    if total:
        _total(
            reading, total, None, f"{total * 1000:.0f} is in Mb/s: {total:f} Gb/s for the instance"
        )


def _megabits(reading: Reading) -> Decimal | None:
    """A bare number of Mb/s: "instance-network-bandwidth: 3200000", or alone. [Gb/s]"""
    stated = number_of(reading, "instance-network-bandwidth")
    for part in reading.parts:
        if stated is None and re.fullmatch(r"[0-9]{5,8}", part):
            stated = Decimal(part)
    return None if stated is None else stated / 1000


_UNIT = r"\((?:(M)|G)(?:b(?:ps|its?)?(?:/s(?:ec)?)?|igabits?(?:/s)?)\)\"?:? ?"
_SCALE_OUT = rf"scale.?out[^0-9(]{{0,20}}{_UNIT}([0-9]{{1,2}}) ?(?:x|\*) ?([0-9]{{2,4}})"
_FRONT_HEADING = (
    r"(?:max )?(?:(?:front.?end|network|baseline) ){0,3}(?<!scale.out )bandwidth "
    rf"{_UNIT}([0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]{{1,7}})(?![0-9]| ?[x*])"
)


def _headings(reading: Reading) -> None:
    """Columns with their unit in the heading: "Max Bandwidth (Mbps) 80000", "(Gbps) 4x800"."""
    scale_out = re.search(_SCALE_OUT, reading.text, re.IGNORECASE)
    if scale_out:
        links, each = int(scale_out[2]), Decimal(scale_out[3])
        _product(reading, links, each, None, scale_out[0])
    front = re.search(_FRONT_HEADING, reading.text, re.IGNORECASE)
    if front is None:
        return
    number, mega = Decimal(front[2].replace(",", "")), front[1] is not None
    if mega and number < 1000:
        reading.warnings.append(f"{number} under Mbps would be {number / 1000} Gb/s: read as Gb/s")
        mega = False
    why = f'"{front[0]}": the front end; an InfiniBand fabric is not in this column'
    reading.say("frontend_gbits_per_s", number / 1000 if mega else number, why)


# --- Rates ------------------------------------------------------------------------------------


def _rates(reading: Reading) -> None:
    """Every rate to its network: first those that a word names, then the ones left over."""
    bare: list[tuple[str, Bandwidth]] = []
    for part in reading.parts:
        port = port_of(part)
        for clause, of in _networks(part):
            for rate in bandwidths(clause):
                if of is Of.FABRIC:
                    _fabric_rate(reading, port, clause, rate)
                elif of in (Of.FRONT, Of.ETHERNET):
                    _front_rate(reading, clause, rate, plain=of is Of.ETHERNET)
                elif of is None and not rate.bare:
                    bare.append((clause, rate))
    for clause, rate in bare:
        _bare_rate(reading, clause, rate)


def _networks(part: str) -> Iterator[tuple[str, Of | None]]:
    """Each clause and its network: its own, or the fabric that the part speaks of alone."""
    pieces = [(clause, _of(clause)) for clause in clauses(_RATED_APART.sub(r"\1 ", part))]
    fabrics = [clause for clause, of in pieces if of is Of.FABRIC]
    alone = fabrics and not {of for _, of in pieces} - {None, Of.FABRIC, Of.ETHERNET}
    rated = any(bandwidths(clause) for clause in fabrics)
    roce = any(re.search("roce|spectrum", clause, re.IGNORECASE) for clause in fabrics)
    for clause, of in pieces:
        # "InfiniBand, 3200 Gbps per node"; "RoCEv2, 8x 400GbE"
        whose = _PER_NODE.search(clause) or _BITS_PER_GPU.search(clause)
        inherits = of is None and (not rated or whose)
        if alone and (inherits or (of is Of.ETHERNET and roce and not rated)):
            yield clause, Of.FABRIC
        else:
            yield clause, of


_PER = r"\)?(?: \w+){0,2} ?(?:/|per|each|je|pro|par|a) ?(?:each )?"
_PER_GPU = re.compile(rf"{_PER}(?:v?gpu|card|accelerator)|GPUあたり", re.IGNORECASE)
_PER_NODE = re.compile(
    r"(?:/|per|je|pro|par|a) ?(?:node|instance|vm|server|host|machine|system|serveur|knoten)"
    r"|total|aggregate|in all|combined",
    re.IGNORECASE,
)
_PER_NIC = re.compile(
    rf"{_PER}(?:nic|port|link|hca|adapter|interface|rail|connection)"
    r"|^ (?:\w+ )?(?:nic|port|hca|adapter)",
    re.IGNORECASE,
)
_BITS_PER_GPU = re.compile(r"[GT](?:b/s|bps|bit/s)(?: per |/ ?)(?:v?gpu|GPU)")
_RATED_APART = re.compile(  # "8 NICs, 400 Gb/s each"
    r"((?<![0-9.])[0-9]{1,2} ?x? ?(?:[A-Za-z0-9-]{1,16} ){0,2}(?:NICs|ports|HCAs|adapters|links)), "
    r"(?=[0-9]{2,4} ?[GT]b?)",
    re.IGNORECASE,
)
_BOTH_WAYS = re.compile(r"bi-?di(?:r|$| )|both (?:ways|directions)", re.IGNORECASE)
_PER_RACK = re.compile(r"per (?:ultraserver|rack|cluster|pod)", re.IGNORECASE)
_ADAPTERS = re.compile(
    r"(?<![0-9A-Za-z.-])([0-9]{1,2}|two|four|eight|sixteen) ?(?:x ?)?"
    r"(?:(?:nvidia|mellanox|single-port|rdma|infiniband|[ehnx]dr) ?){0,3}"
    r"(?:(?:connectx|cx)-?[5-9]\w*|nics?|hcas?|ports?|adapters?|interfaces?|efas?|slingshot\S*|bluefield-3"
    r"|[ehnx]dr|infiniband|ib|roce)(?![a-z])",
    re.IGNORECASE,
)
_NUMBERS = {"two": 2, "four": 4, "eight": 8, "sixteen": 16}


def _adapters(clause: str) -> int | None:
    """ "eight ConnectX-7 ...", "8 NICs"; a dual-port adapter's rate may be of one port."""
    found = _ADAPTERS.search(clause)
    if found is None or re.search(r"(?i)dual.port|2.port|(?-i:DR[0-9]* 4X)", clause):
        return None
    return _NUMBERS.get(found[1].lower()) or int(found[1])


def _fabric_rate(reading: Reading, of_part: int | None, clause: str, rate: Bandwidth) -> None:
    """A rate of the fabric: of one NIC, one GPU or the instance; else not said of what."""
    said = claim(clause, JOINING)
    if said and said.stance in (Stance.NO, Stance.MAYBE):
        return reading.unknown("fabric_gbits_per_s", f'"{clause}" promises nothing')
    if rate.up_to:
        return reading.unknown("fabric_gbits_per_s", f'"{clause}": up to is no promise')
    behind = _behind(clause, rate)
    if _BOTH_WAYS.search(behind) or _BOTH_WAYS.search(clause[: rate.start][-16:]):
        why = f'"{clause}": both ways together, or each, is not said'
        return reading.unknown("fabric_gbits_per_s", why)
    if _PER_RACK.search(behind):
        return reading.unknown("fabric_gbits_per_s", f'"{clause}" is of more than an instance')
    port = port_of(clause) or of_part
    each = _in_bits(reading, rate, port)
    # "NDR 4X 400 Gb/s": the lanes of one port
    lanes = each == port and re.search(r"[EHNX]DR[0-9]* 4X ?$", clause[: rate.start + 3])
    links = rate.links if rate.counted else _links(clause[: rate.start], behind)
    if _PER_GPU.match(behind) or (len(bandwidths(clause)) == 1 and _PER_GPU.search(behind)):
        return _per_gpu(reading, each, port, clause, rate)
    if links and not lanes and (rate.counted or links > 1) and not _PER_NODE.search(behind[:16]):
        return _product(reading, links, each, port, clause)
    of_node = _PER_NODE.search(behind[:32])
    if lanes or _PER_NIC.match(behind) or (each == port and not of_node):
        _say_each(reading, each, clause)
        return None
    alone = reading.gpu_count == 1
    if of_node or alone or each > FASTEST_PORT or _is_efa(reading):
        why = f'"{clause}": {each:f} Gb/s is the instance\'s'
        _total(reading, each, port, why, in_bytes=rate.bytes_written)
        return None
    why = f'"{clause}": of one port, one GPU or all is not said'
    return reading.unknown("fabric_gbits_per_s", why)


def _behind(clause: str, rate: Bandwidth) -> str:
    """The words behind a rate, up to the next one."""
    later = (other.start for other in bandwidths(clause) if other.start > rate.start)
    return clause[rate.end : min(later, default=None)]


_LINKS_BEHIND = re.compile(
    r"(?: [A-Za-z][A-Za-z0-9-]*){1,3} ?\(?(?:x|\*) ?([0-9]{1,2})(?![0-9.x]| ?[gt]b)"
    r"|(?: [A-Za-z][A-Za-z0-9-]*){1,3} ?\(([0-9]{1,2}) ?x\)",
    re.IGNORECASE,
)


def _links(before: str, behind: str) -> int | None:
    """How many links, by the adapters that are counted or as in "400G InfiniBand x 8"."""
    if found := _LINKS_BEHIND.match(behind):
        return int(found[1] or found[2])
    return _adapters(before + behind)


def _is_efa(reading: Reading) -> bool:
    """AWS prints EFA by the instance."""
    return reading.said.get("fabric") == FabricKind.EFA.value


def _in_bits(reading: Reading, rate: Bandwidth, port: int | None) -> Decimal:
    """Bytes written for bits: "200 GB/s HDR" is a port of 200 Gb/s. [Gb/s]"""
    if not rate.bytes_written or port is None or rate.gbits_per_s == port:
        return rate.gbits_per_s
    shown = f"{rate.gbits_per_s / 8:f} GB/s"
    reading.warnings.append(f"bytes written for bits: no {port} Gb/s port has {shown}")
    return rate.gbits_per_s / 8


def _say_each(reading: Reading, each: Decimal, clause: str) -> bool:
    """The rate of one NIC, if there is such a NIC."""
    port = port_of(clause) or FASTEST_PORT
    if each > port:
        why = f'"{clause}": no NIC of this kind has {each:f} Gb/s, the fastest has {port}'
        reading.warnings.append(why)
        reading.unknown("fabric_gbits_per_s_per_nic", why)
        reading.unknown("fabric_gbits_per_s", why)
        return False
    reading.say("fabric_gbits_per_s_per_nic", each, f'"{clause}": {each:f} Gb/s is one NIC\'s')
    return True


def _product(reading: Reading, links: int, each: Decimal, port: int | None, clause: str) -> None:
    if not _say_each(reading, each, clause):
        return
    if _total(reading, links * each, port, f'"{clause}": links × rate, {links} x {each:f} Gb/s'):
        reading.say("fabric_nics", links, f'"{clause}": {links} links')


def _per_gpu(
    reading: Reading, each: Decimal, port: int | None, clause: str, rate: Bandwidth
) -> None:
    count, of_one = reading.gpu_count, each * rate.links
    if count is None or count < 1:
        reading.unknown("fabric_gbits_per_s", f'"{clause}": for how many GPUs is not said')
        return
    why = f'"{clause}": {of_one:f} Gb/s per GPU x {count}'
    _total(reading, of_one * count, port, why, in_bytes=rate.bytes_written)


def _total(
    reading: Reading, total: Decimal, port: int | None, why: str, *, in_bytes: bool = False
) -> bool:
    """Of the instance, if its GPUs can have so much; a second figure that differs is a dispute."""
    if refused := _too_much(reading, total, port, in_bytes):
        reading.warnings.append(f"{why}, which cannot be: {refused}")
        reading.unknown("fabric_gbits_per_s", f"{why}, which cannot be: {refused}")
        return False
    if "fabric_gbits_per_s" in reading.said:
        reading.dispute("fabric_gbits_per_s", total, why)
    else:
        reading.say("fabric_gbits_per_s", total, why)
    return True


def _too_much(reading: Reading, total: Decimal, port: int | None, in_bytes: bool) -> str:
    """The equation that a total breaks, and what was likely meant; "" where it holds."""
    count, each = reading.gpu_count, most_per_gpu(reading, port)
    node = max(count or LARGEST_NODE, Decimal(1))
    if total <= node * each:
        return ""
    whose = f"{node:f} x" if count else f"a node of even {LARGEST_NODE} GPUs has"
    has = f"such a GPU has at most {each} Gb/s of fabric"
    refused = f"{has}, and {whose} {each} is less than {total:f}"
    likely = in_bytes and total / 8 <= node * each
    return f"{refused}; likely {total / 8:f} Gb/s is meant" if likely else refused


def _front_rate(reading: Reading, clause: str, rate: Bandwidth, *, plain: bool) -> None:
    links = rate.links if rate.counted else _adapters(clause) or 1
    total = links * rate.gbits_per_s
    if plain and (total > FASTEST_BESIDE or links > MOST_IN_FRONT):
        return reading.unknown("fabric", f'"{clause}": Ethernet, but of which network is not said')
    if rate.up_to:
        why = f'"{clause}": up to is no promise'
        return reading.say("frontend_burst_gbits_per_s", total, why)
    said = reading.said.get("frontend_gbits_per_s")
    if isinstance(said, Decimal) and said != total:
        return reading.dispute("frontend_gbits_per_s", total, f'"{clause}": another front end')
    return reading.say("frontend_gbits_per_s", total, f'"{clause}": the front end')


def _bare_rate(reading: Reading, clause: str, rate: Bandwidth) -> None:
    """No word beside it: the fabric's if the text names one and gives it no rate, else in front."""
    fabric = reading.said.get("fabric")
    rated = {"fabric_gbits_per_s", "fabric_gbits_per_s_per_nic"} & reading.said.keys()
    joined = fabric not in (None, FabricKind.ETHERNET.value) and not rated
    if rate.up_to:
        why = f'"{clause}": up to is no promise'
        reading.say("frontend_burst_gbits_per_s", rate.total, why)
    elif rate.bytes_written:  # "MI300X 896 GB/s": no network is printed in bytes without its word
        reading.unknown("fabric_gbits_per_s", f'"{clause}": of what is not said')
    elif joined and rate.links > 1:
        _product(reading, rate.links, rate.gbits_per_s, None, clause)
    elif joined and (_is_efa(reading) or rate.total > FASTEST_PORT):
        _total(reading, rate.total, None, f'"{clause}": more than a port, so the instance\'s')
    elif not joined and rate.total <= (FASTEST_BESIDE if rated else FASTEST_FRONT_END):
        why = f'"{clause}" with no word of RDMA: the front end'
        reading.say("frontend_gbits_per_s", rate.total, why)
    else:
        reading.unknown("fabric_gbits_per_s", f'"{clause}": of which network is not said')


def _number_of_nics(reading: Reading) -> None:
    """Total ÷ rate, where it is whole; ports of a generation, where only they are counted."""
    total = reading.said.get("fabric_gbits_per_s")
    each = reading.said.get("fabric_gbits_per_s_per_nic")
    if isinstance(total, Decimal) and isinstance(each, Decimal) and total % each == 0:
        nics = int(total / each)
        reading.say("fabric_nics", nics, f"{total:f} Gb/s by {each:f} Gb/s is {nics} NICs")
    if total is not None or reading.said.get("fabric") != FabricKind.INFINIBAND.value:
        return
    for clause in (c for part in reading.parts for c in clauses(part)):
        ports, port = _links("", f" {clause}"), port_of(clause)
        if ports and port and not bandwidths(clause):
            _product(reading, ports, Decimal(port), port, clause)


def _equation(reading: Reading) -> None:
    """NICs × rate = total, or the total is disputed; a total that no such NICs have is refused."""
    names = ("fabric_nics", "fabric_gbits_per_s_per_nic", "fabric_gbits_per_s")
    nics, each, total = (reading.said.get(name) for name in names)
    if not isinstance(nics, int) or not isinstance(total, Decimal) or nics == 0:
        return
    if isinstance(each, Decimal):
        reading.dispute("fabric_gbits_per_s", nics * each, f"{nics} NICs x {each:f} Gb/s")
    elif total > nics * FASTEST_PORT:
        del reading.said["fabric_gbits_per_s"]
        reading.why["fabric_gbits_per_s"] = f"not known: {nics} NICs cannot have {total:f} Gb/s"
        reading.warnings.append(f"{nics} NICs cannot have {total:f} Gb/s")


_BY_PLACE = re.compile(
    r"(?<![0-9.,])[0-9][0-9,.]{0,6} ?\([a-z][^()|]{2,80}\) ?"
    r"/ ?[0-9][0-9,.]{0,6} ?\([a-z][^()|]{2,40}\)",
    re.IGNORECASE,
)


def _by_place(reading: Reading) -> None:
    """ "600 (asia-south1) / 400 (other)": it differs by place, and no one figure is the type's."""
    found = _BY_PLACE.search(reading.text)
    if found:
        why = f'"{found[0]}" differs by place'
        reading.warnings.append(f"{why}: no one figure is the type's")
        reading.unknown("fabric_gbits_per_s", why)


NETWORK_READERS = (_by_place, _efa, _headings, _rates, _number_of_nics, _equation)
