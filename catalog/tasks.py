"""Rankings of the preset workloads, made before anyone asks, and anew when the catalog changes.

An answer is kept under all that it rests on (`catalog.kept`): facts, prices, the hour, the model.
So whether one is due needs no note of its own: it is due where it is not there.
"""

import time
from collections.abc import Iterator

from celery import shared_task

from catalog import estimates
from catalog.filters import OfferQuery
from catalog.models import Workload

USUAL = (256, 64, 8, 1024)  # GPUs that the pages lead to; the first is what they show unasked
PATIENCE_S = 240  # of one turn; the next goes on where it stopped


@shared_task(name="catalog.warm")  # type: ignore[untyped-decorator]
def warm() -> None:
    """Make what is missing, for as long as one turn may take."""
    until = time.monotonic() + PATIENCE_S
    for _made in prepared():
        if time.monotonic() > until:
            return


def prepared() -> Iterator[str]:
    """Make each preset's answers that are missing, one at a time; a line of each that was made.

    As the page asks for the usual counts, and as `POST estimates/` does for the first.
    """
    slugs = list(Workload.objects.order_by("slug").values_list("slug", flat=True))
    for gpus, scenarios in (*((gpus, True) for gpus in USUAL), (USUAL[0], False)):
        for slug in slugs:
            asked = estimates.question(slug, gpus, OfferQuery(), scenarios=scenarios)
            if estimates.prepared(asked):
                yield f"{slug} on {gpus} GPUs"
