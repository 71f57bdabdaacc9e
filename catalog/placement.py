"""How the instances of one cluster spread over racks: counting, and nothing else.

A rack of the NVL72 kind holds 18 trays, of which a provider may guarantee fewer, so that a broken
tray can be replaced. A job that spans racks runs at the pace of the smallest gang, so the nodes
are spread evenly: 24 nodes on racks of 16 guaranteed trays are 12 + 12, not 16 + 8.
"""

import math


def nodes(gpus: int, gpus_each: float) -> int:
    """How many instances of so many GPUs hold that many."""
    return max(1, math.ceil(gpus / gpus_each))


def gangs(nodes: int, trays: int) -> list[int]:
    """Nodes on each rack, over as few racks as hold them and as even as can be; larger first.

    Parameters
    ----------
    nodes
        Instances to place, each of one tray.
    trays
        Trays that are guaranteed in one rack, ≥ 1.
    """
    if nodes < 1 or trays < 1:
        raise ValueError("nodes and trays are at least 1")
    racks = math.ceil(nodes / trays)
    each, over = divmod(nodes, racks)
    return [each + 1] * over + [each] * (racks - over)
