"""How to see on day one that a cluster is joined as its listing says.

The lines that NCCL prints with `NCCL_DEBUG=INFO`, by fabric and links. Read in the sources of
NCCL 2.2x (src/transport/net_ib.cc, net.cc, nvls.cc) and of aws-ofi-nccl, 2026-11-29.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from django.utils.translation import gettext, ngettext

OFI = {"efa": "efa"}
IB = {"infiniband": "/IB", "roce": "/RoCE", "erdma": "/RoCE"}
LOG_WIDTH = 74


def nccl_lines(kind: Mapping[str, Any]) -> list[str]:
    """Lines to look for, each with what it shows; the bad sign last. Empty for one GPU alone."""
    return [*_inside(kind), *_between(kind)]


def _line(log: str, shows: str) -> str:
    return f"{log.ljust(LOG_WIDTH)} {shows}"


def _inside(kind: Mapping[str, Any]) -> Iterator[str]:
    count = float(kind["gpu_count"] or 1)
    if count <= 1:
        return
    if kind["scale_up"] == "nvswitch":
        yield _line("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
                    gettext("GPUs reach each other directly"))  # fmt: skip
        if (kind["nvlink_generation"] or 0) >= 4:
            yield _line("NCCL INFO NVLS multicast support is available",
                        gettext("the NVSwitch can reduce"))  # fmt: skip
    elif kind["scale_up"] in {"pcie", None}:
        yield _line("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct",
                    gettext("through host memory: there is no NVLink"))  # fmt: skip
    elif kind["scale_up"] != "none":
        yield _line("NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM",
                    gettext("linked; SHM here means that the links are off"))  # fmt: skip


def _between(kind: Mapping[str, Any]) -> Iterator[str]:
    fabric, nics = kind["fabric"], kind["fabric_nics"]
    several = gettext("count the devices")
    if nics:
        several = ngettext("%(n)s device", "%(n)s devices", nics) % {"n": nics}
    if fabric in IB:
        last = f" … [{nics - 1}]mlx5_{nics - 1}:1{IB[fabric]}" if nics and nics > 1 else ""
        yield _line(f"NCCL INFO NET/IB : Using [0]mlx5_0:1{IB[fabric]}{last}", several)
        yield _line("NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA",
                    gettext("GDRDMA: no bounce through the host"))  # fmt: skip
    elif fabric in OFI:
        yield _line("NCCL INFO NET/OFI Selected provider is efa", several)
        yield _line("NCCL INFO NET/OFI … Using transport protocol RDMA",
                    gettext("the plugin uses RDMA"))  # fmt: skip
    elif fabric in {"gpudirect_tcpx", "gpudirect_tcpxo"}:
        name = "GPUDirectTCPX" if fabric == "gpudirect_tcpx" else "FasTrak"
        yield _line(f"NCCL INFO Using network {name}", gettext("the provider's plugin is loaded"))
    elif fabric == "ethernet":
        yield _line("NCCL INFO NET/Socket : Using [0]eth0", gettext("expected here: no RDMA"))
        return
    elif fabric == "none":
        return
    yield _line("# " + gettext("bad sign:") + " NET/Socket : Using [0]eth0",
                gettext("sockets: no RDMA is in use"))  # fmt: skip


def needs() -> list[str]:
    """What a container needs, whatever the fabric."""
    return [
        gettext("IPC_LOCK (ulimit -l unlimited), or registering memory for RDMA fails."),
        gettext("A /dev/shm of several GB: Docker's 64 MB stops NCCL at start."),
        gettext("The devices: /dev/infiniband/* for RDMA, all GPUs of the box for NVLink."),
        gettext("A private network: the traffic of NCCL is not encrypted."),
    ]
