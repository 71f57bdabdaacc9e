"""`manage.py warm_estimates`: the presets on the usual GPU counts, computed before anyone asks."""

import os
from typing import Any

from django.core.management.base import BaseCommand

from catalog import estimates
from catalog.filters import OfferQuery

USUAL = (256, 64, 8, 1024)


class Command(BaseCommand):
    """Compute and keep what the workload pages show first; what is kept already costs nothing."""

    help = "Estimate every preset workload on 8, 64, 256 and 1,024 GPUs of every type."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """At the lowest priority: the service answers meanwhile."""
        os.nice(19)
        for gpus in USUAL:
            for workload in estimates.workloads():
                answer = estimates.rank(workload["slug"], gpus, OfferQuery())
                ranked, left_out = len(answer["results"]), len(answer["left_out"])
                self.stdout.write(
                    f"{workload['slug']} on {gpus} GPUs: {ranked} ranked, {left_out} left out"
                )
