"""`manage.py warm_estimates`: the presets on the usual GPU counts, computed before anyone asks."""

import os
from typing import Any

from django.core.management.base import BaseCommand

from catalog import tasks


class Command(BaseCommand):
    """Compute and keep what the workload pages show first; what is kept already costs nothing."""

    help = "Estimate every preset workload on 8, 64, 256 and 1,024 GPUs of every type."

    def handle(self, *_args: Any, **_options: Any) -> None:
        """At the lowest priority: the service answers meanwhile."""
        os.nice(19)
        for made in tasks.prepared():
            self.stdout.write(made)
