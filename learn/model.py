"""What the cost model says of clusters in today's catalog, through the door of `estimates/`.

A question is put to one instance type, the cheapest that a query lists, so that what is shown can
be asked again on the page of its workload. Answers are kept until the catalog changes.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from catalog import estimates
from catalog import offers as listing
from catalog.models import CatalogVersion
from learn.figures import query

CLUSTER = "gpu=h100-sxm5-80gb&gpu_count_min=8&nvlink=true&infiniband=true&price_model=on_demand"
PCIE = "scale_up=pcie&gpu=l40s-pcie-48gb&gpu_count_min=8&gpu_count_max=8"
Answer = Mapping[str, Any]


def cheapest(text: str) -> Mapping[str, Any] | None:
    """The first offer of a list, by price; None where it is empty."""
    rows = listing.page(query(f"{text}&page_size=1")).rows
    return rows[0] if rows else None


def estimated(workload: str, gpus: int, text: str, *, scenarios: bool = False) -> Answer | None:
    """The answer for the cheapest type of a query: its offer, estimate and what-ifs.

    None where the query lists nothing, or the job does not fit on it.
    """
    return _estimated(CatalogVersion.stamp(), workload, gpus, text, scenarios)


@lru_cache(maxsize=64)
def _estimated(_stamp: str, workload: str, gpus: int, text: str, scenarios: bool) -> Answer | None:
    offer = cheapest(text)
    if offer is None:
        return None
    narrowed = f"{text}&{urlencode(narrow(offer))}"
    found = estimates.rank(workload, gpus, query(narrowed), scenarios=scenarios)
    same = (r for r in found["results"] if r["offer"]["instance_type"] == offer["instance_type"])
    return next(same, None)


def narrow(offer: Mapping[str, Any]) -> dict[str, str]:
    """The parameters that leave one type of a list."""
    return {"provider": offer["provider"], "q": offer["instance_type"]}


def page_of(workload: str, gpus: int, offer: Mapping[str, Any]) -> str:
    """Where the same question can be asked by hand."""
    return f"/workloads/{workload}/?{urlencode({'gpus': gpus, **narrow(offer)})}"
