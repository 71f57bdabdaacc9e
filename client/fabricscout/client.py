"""`FabricScout`: the doors of the API as methods, their parameters as keywords."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote

from fabricscout import changes, comparing
from fabricscout.answers import Fabric, Fact, Instance, Offer, Price, Ranking
from fabricscout.connection import Connection, Parameters, Value, written
from fabricscout.kept import Comparisons, Watches
from fabricscout.rows import Rows

DEFAULT_URL = "http://127.0.0.1:8000"


class FabricScout:
    """A FabricScout service.

    `comparisons` and `watches` are what the token's account keeps (`fabricscout.kept`). Every
    method raises a `FabricScoutError`: `BadInput` where a parameter is wrong (its `fields` say
    which, and what it may be), `NotFound`, `NotAllowed`, `Unreachable`...

    Parameters
    ----------
    base_url
        Where it answers; None: the environment's FABRICSCOUT_URL, else this machine's port 8000.
    token
        From the account page; None: the environment's FABRICSCOUT_TOKEN, else none. Reading needs
        none, and is slower without.
    timeout_s
        That one answer may take. [s]
    patience_s
        That one request may wait, in all, where the service asks it to come later. [s]
    """

    def __init__(
        self,
        base_url: str | None = None,
        token: str | None = None,
        *,
        timeout_s: float = 120,
        patience_s: float = 90,
    ) -> None:
        self.connection = Connection(
            base_url or os.environ.get("FABRICSCOUT_URL") or DEFAULT_URL,
            token or os.environ.get("FABRICSCOUT_TOKEN") or None,
            timeout_s=timeout_s,
            patience_s=patience_s,
        )
        self.comparisons = Comparisons(self.connection)
        self.watches = Watches(self.connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.connection.close()

    # --- Lists ----------------------------------------------------------------------------------

    def offers(self, **parameters: Value | None) -> Rows[Offer]:
        """What can be rented: `nvlink=True, fabric_gbits_per_s_per_gpu_min=400, as_of=...`."""
        return Rows(self.connection, "offers/", parameters)

    def fabrics(self, **parameters: Value | None) -> Rows[Fabric]:
        """Types that can be reserved together on one network: `gpus_min=32, infiniband=True`."""
        return Rows(self.connection, "fabrics/", parameters)

    def facts(self, **parameters: Value | None) -> Rows[Fact]:
        """Sourced statements: `subject="azure/Standard_ND96isr_H100_v5", live=True`."""
        return Rows(self.connection, "facts/", parameters)

    def prices(self, **parameters: Value | None) -> Rows[Price]:
        """Price periods: `provider="aws", instance_type="p5.48xlarge", since="2026-10-01"`."""
        return Rows(self.connection, "prices/", parameters)

    # --- One type, several types, one workload --------------------------------------------------

    def instance(self, provider: str, name: str) -> Instance:
        """One instance type, whole: each fact with its evidence, prices, what is still unknown."""
        found: Instance = self.connection.get(f"instance-types/{quote(provider)}/{quote(name)}/")
        return found

    def workloads(self) -> list[dict[str, Any]]:
        """The workloads that have a name."""
        found: list[dict[str, Any]] = self.connection.get("workloads/")["results"]
        return found

    def rank(
        self,
        workload: str | Mapping[str, Any],
        gpus: int | None = None,
        *,
        where: Parameters | None = None,
        **more: Any,
    ) -> Ranking:
        """Clusters ranked for a workload, the best first.

        Parameters
        ----------
        workload
            The slug of a workload, or one of your own as an object.
        gpus
            How many; without it a deadline or a budget finds the count.
        where
            Which offers: parameters of `offers`.
        more
            Further keys of the question: `nodes, objective, deadline_hours, budget_usd...`.
        """
        question = {"workload": workload, "gpus": gpus, "filter": written(where or {}), **more}
        given = {key: value for key, value in question.items() if value is not None}
        ranking: Ranking = self.connection.send("POST", "estimates/", given)
        return ranking

    def compare(
        self,
        picks: Sequence[str],
        workload: str | None = None,
        gpus: int | None = None,
        **more: Any,
    ) -> comparing.Comparison:
        """Types side by side, `provider/instance_type` each; see `comparing.compare`."""
        return comparing.compare(self.instance, self.rank, picks, workload, gpus, **more)

    def changes(
        self, since: changes.Moment, until: changes.Moment | None = None, **filters: Value | None
    ) -> list[changes.Change]:
        """What is new, gone or priced otherwise since then; see `changes.changes`."""
        return changes.changes(self.offers, since, until, **filters)
