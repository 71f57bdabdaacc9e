"""A market of a few offers in which every kind of answer occurs."""

from datetime import UTC, datetime

from catalog.records import PriceModel
from tests.catalog.conftest import DAY, MONDAY, facts, offer, scrape

INFINIBAND = {"fabric": "infiniband", "fabric_nics": 8, "fabric_gbits_per_s_per_nic": 400}


def open_market(days: float = 0, price_in_oslo: str = "24") -> None:
    """Publish it, collected so many days from now: two providers, eight types, nine offers."""
    days += (datetime.now(UTC) - MONDAY) / DAY
    acme = [
        offer(
            "ib", price_in_oslo, region="oslo", country="NO", facts=facts("acme/ib", **INFINIBAND)
        ),
        offer("ib", "28", region="tokyo", country="JP", facts=facts("acme/ib", **INFINIBAND)),
        offer("ib", "12", price_model=PriceModel.SPOT, facts=facts("acme/ib", **INFINIBAND)),
        offer("quoted", None, facts=facts("acme/quoted", **INFINIBAND), price_note="by quote"),
        offer("roce", "16", facts=facts("acme/roce", fabric="roce", fabric_gbits_per_s=1600)),
        offer("dark", "8", facts=facts("acme/dark")),  # NVLink, and a fabric that nobody names
        offer("one", "3", facts=facts("acme/one", gpu_count=1, fabric="ethernet")),
    ]
    other = [
        offer("cards", "6", provider="=other", facts=facts("=other/cards", gpu="l40s-pcie-48gb")),
        offer("mystery", "5", provider="=other", facts=facts("=other/mystery", gpu=None)),
    ]
    scrape(acme, lister="acme", days=days)
    scrape(other, lister="=other", days=days)
