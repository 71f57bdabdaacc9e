"""FabricScout from Python: rentable GPU clusters by their interconnect.

    from fabricscout import FabricScout

    scout = FabricScout()
    for offer in scout.offers(nvlink=True, infiniband=True, price_model="on_demand"):
        print(offer["provider"], offer["instance_type"], offer["usd_per_gpu_hour"])

An answer is what the API says, key for key: unknown is None, never zero and never "no"; money is
the text of a decimal. Every parameter of the API is a keyword here, by its own name.
"""

from fabricscout.client import FabricScout
from fabricscout.errors import (
    ApiError,
    BadInput,
    Conflict,
    FabricScoutError,
    NotAllowed,
    NotFound,
    TooManyRequests,
    Unreachable,
)
from fabricscout.rows import Rows

__all__ = [
    "ApiError",
    "BadInput",
    "Conflict",
    "FabricScout",
    "FabricScoutError",
    "NotAllowed",
    "NotFound",
    "Rows",
    "TooManyRequests",
    "Unreachable",
]
