"""What NCCL says of itself with NCCL_DEBUG=INFO: which links it uses, and on which line.

The lines were read in the sources of NCCL 2.2x (src/transport/net.cc, net_ib.cc, net_socket.cc,
shm.cc, nvls.cc) and of aws-ofi-nccl, and in logs that people published (2026-11-29).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scoring.said import Said

LONGEST_LINE = 2000  # characters that are looked at
# What is looked for, by the name under which the first line that shows it is kept.
SIGNS = {
    "direct": r"via NET/\S*(?: Libfabric/\S*)?GDRDMA",
    "net": r"via NET/(?!Socket)(?!\S*(?: Libfabric/\S*)?GDRDMA)",
    "socket": r"via NET/Socket|Using network Socket",
    "socket_named": r"NET/Socket ?: Using \[0\]",
    "rdma_named": r"NET/IB ?: Using \[0\]|Selected [Pp]rovider is efa|Using network (?:IB\b|\S*"
    r" ?Libfabric|FasTrak|GPUDirectTCPX)",
    "tcp_provider": r"Selected [Pp]rovider is (?:tcp|sockets)",
    "no_device": r"NET/IB ?: No device found|Failed to open libibverbs",
    "told_off": r"NCCL_(?:IB_DISABLE set by environment to [1-9]|NET set by environment to Socket)",
    "direct_off": r"disabling GDR|GDR not supported|GPU Direct RDMA Disabled"
    r"|NCCL_NET_GDR_LEVEL set by environment to (?:LOC|0)",
    "p2p": r" via P2P/",
    "shm": r" via SHM/",
    "nvls": r"NVLS multicast support is available",
    "no_nvls": r"NVLS multicast support is not available",
    "warning": r"NCCL WARN ",
}
DEVICE = re.compile(r"\[\d+\][\w.-]+:\d+/(IB|RoCE)\b")
FOUND_NICS = re.compile(r"Selected [Pp]rovider is \w+[^(]*\(found (\d{1,3}) nics\)")
VERSION = re.compile(r"NCCL version (\d[\w.+-]{2,30})")
RANKS = re.compile(r"\b[nN][rR]anks (\d{1,7})\b")
NODES = re.compile(r"\bnNodes (\d{1,7})\b")
CHANNELS = ("direct", "net")  # a line each: they are counted
SHOWN_SOCKETS = ("socket", "tcp_provider")
TOLD_SOCKETS = ("socket_named", "told_off", "no_device")
_SIGNS = {name: re.compile(pattern) for name, pattern in SIGNS.items()}


@dataclass(frozen=True, slots=True)
class Log:
    """What was seen, as the first line that shows it; a count is None where unsaid."""

    seen: dict[str, int]
    version: str | None = None
    devices: int | None = None  # NICs of one node
    ranks: int | None = None
    nodes: int | None = None
    direct_channels: int = 0  # that NICs read from GPU memory
    host_channels: int = 0  # that leave through host memory

    @property
    def direct(self) -> bool | None:
        """Whether NICs read GPU memory: in every channel, not in each, or the log does not say."""
        if self.sockets or self.host_channels:
            return False
        if self.direct_channels:
            return True
        return False if "direct_off" in self.seen else None

    @property
    def mixed(self) -> bool:
        """Whether some channels are read from GPU memory, and others leave through the host's."""
        return bool(self.direct_channels and self.host_channels)

    @property
    def sockets(self) -> bool:
        """Whether messages between nodes go over TCP, not over RDMA.

        What is only announced (a device that is missing, a variable) counts where nothing shows
        that RDMA is in use all the same, as over a plugin of the provider's.
        """
        if any(name in self.seen for name in SHOWN_SOCKETS):
            return True
        rdma = any(name in self.seen for name in ("rdma_named", "direct", "net"))
        return not rdma and any(name in self.seen for name in TOLD_SOCKETS)


def read_log(lines: Iterable[str]) -> Log:
    """What the lines of a log show, among any others."""
    seen: dict[str, int] = {}
    counts: dict[str, int] = {}
    version = None
    for number, line in enumerate(lines, start=1):
        if "NCCL" not in line and "via " not in line and "NET/" not in line:
            continue
        text = line[:LONGEST_LINE]
        for name, pattern in _SIGNS.items():
            if (name not in seen or name in CHANNELS) and pattern.search(text):
                seen.setdefault(name, number)
                counts[name] = counts.get(name, 0) + 1
        if version is None and (found := VERSION.search(text)):
            version = found[1]
        if devices := len(DEVICE.findall(text)):
            counts["devices"] = max(counts.get("devices", 0), devices)
        for name, count in (("devices", FOUND_NICS), ("ranks", RANKS), ("nodes", NODES)):
            if found := count.search(text):
                counts[name] = max(counts.get(name, 0), int(found[1]))
    return Log(
        seen, version, counts.get("devices"), counts.get("ranks"), counts.get("nodes"),
        counts.get("direct", 0), counts.get("net", 0),
    )  # fmt: skip


def signs(log: Log, *, across: bool, linked: bool, nics: int | None) -> Iterator[Said]:
    """What the log shows of a run, good signs and bad ones.

    Parameters
    ----------
    across
        Whether it leaves node and domain over the fabric.
    linked
        Whether the GPUs of a node have links of their own, NVLink or the like.
    nics
        Fabric NICs that a node should have; None where nobody says.
    """
    seen = log.seen
    if across:
        yield from _between(log, nics)
    if linked and "shm" in seen and "p2p" not in seen:
        text = "GPUs of one node exchange through host memory (SHM): their links are not used."
        yield Said("links_off", text, line=seen["shm"])
    elif linked and "p2p" in seen:
        yield Said("links_on", "GPUs of one node reach each other directly.", line=seen["p2p"])
    if "nvls" in seen:
        yield Said("nvls", "The NVSwitch can sum (NVLS).", line=seen["nvls"])
    elif "no_nvls" in seen:
        yield Said("no_nvls", "The NVSwitch does not sum (no NVLS).", line=seen["no_nvls"])
    if "warning" in seen:
        yield Said("warning", "NCCL warns of something.", line=seen["warning"])


def _between(log: Log, nics: int | None) -> Iterator[Said]:
    seen = log.seen
    if log.sockets:
        line = next(seen[name] for name in (*SHOWN_SOCKETS, *TOLD_SOCKETS) if name in seen)
        text = "Messages between nodes go over TCP sockets: RDMA is not in use."
        yield Said("sockets", text, line=line)
        if "told_off" in seen:
            text = "A variable of the environment turns RDMA off: is it meant to?"
            yield Said("told_off", text, line=seen["told_off"])
        if "no_device" in seen:
            text = "NCCL found no RDMA device: are /dev/infiniband and libibverbs in the container?"
            yield Said("no_device", text, line=seen["no_device"])
    elif log.mixed:
        figures: dict[str, object] = {"host": log.host_channels}
        figures["all"] = log.host_channels + log.direct_channels
        text = "GPUDirect RDMA is in use on a part only: %(host)s of %(all)s channels go without."
        yield Said("mixed", text, figures, seen["net"])
    elif log.direct:
        yield Said("gdr", "GPUDirect RDMA is in use.", line=seen["direct"])
    elif log.direct is False:
        off = seen.get("net", seen.get("direct_off"))
        text = "Messages leave through host memory: GPUDirect RDMA is not in use."
        yield Said("bounce", text, line=off)
    else:
        text = (
            "The paste does not show whether GPUDirect RDMA is in use: run with NCCL_DEBUG=INFO "
            "and paste that, too."
        )
        yield Said("gdr_unseen", text)
    if log.devices and nics and log.devices < nics and not log.sockets:
        figures = {"seen": log.devices, "nics": nics}
        yield Said("nics", "NCCL uses %(seen)s NICs of the %(nics)s that a node has.", figures)
