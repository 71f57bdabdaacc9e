"""The app, as Django sees it."""

# What needs tables is imported once they are there, and what needs the cost model once it is used:
# every process starts with this module.
# ruff: noqa: PLC0415

from typing import Any

from django.apps import AppConfig
from django.db.models.signals import post_save


class WatchesConfig(AppConfig):
    name = "watches"

    def ready(self) -> None:
        """Every run is told to those who watch; what must hold of it is checked with the rest."""
        from catalog import gauges, invariants
        from watches.invariants import CHECKS, OUTBOX

        post_save.connect(told, sender="comparisons.Run", dispatch_uid="watches.told")
        invariants.CHECKS.update(CHECKS)
        gauges.add(OUTBOX)


def told(instance: Any, created: bool, raw: bool, **_: Any) -> None:
    """A run has been written, in a transaction that is still open."""
    from watches import looking

    if created and not raw:
        looking.tell(instance)
