"""An offer as one line of JSON, the same for a payload and for a text."""

from collections.abc import Iterable

from catalog.ledger import describe
from catalog.records import Fact, OfferRecord
from scrapers.listing import WITHHELD

# What follows from how the GPUs are joined.
LINKS = (
    "scale_up",
    "nvlink_generation",
    "scale_up_gbytes_per_s",
    "scale_up_pair_gbytes_per_s",
    "scale_up_domain_gpus",
    "nvlink_domain_gpus",
    "domain_gpu_memory_gb",
    "cliff",
)


def offer_line(record: OfferRecord, ledger: Iterable[Fact] = ()) -> dict[str, object]:
    """Every key of DESIGN 7. How stale it is, only a catalog can say."""
    line = {"kind": "offer"} | describe(record, ledger) | {"stale": None}
    if _links_withheld(record):
        line |= dict.fromkeys(LINKS)
    return line


def _links_withheld(record: OfferRecord) -> bool:
    """True where the listing looked at the links and found none it could vouch for.

    `bw_nvlink: 0` of an 8-GPU SXM board: the board has NVSwitch, the machine may not.
    """
    return any(
        fact.attribute == "scale_up" and fact.value is None and fact.note.startswith(WITHHELD)
        for fact in record.facts
    )
