"""Keeping a run: from then on a fact of its type says what was measured, by a user, unverified.

The fact has a scope (so many GPUs and bytes), so it stands beside the nominal values, disputes none
of them and fills no column: filters and the model never read it.
"""

import hashlib
from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver

from catalog import ingest, nccl
from catalog.facts import ATTRIBUTES
from catalog.query import BadQuery
from catalog.records import Basis, Fact
from measurements.models import Measurement

MOST = 500  # that one user keeps
UNVERIFIED = "not verified"
# What speaks against a run: its figures do not add up, or are of something else.
SPOILT = frozenset(
    ("algbw", "busbw", "count", "corrupt", "columns", "figure", "time", "impossible", "other_gpu")
)


def keep(owner: User, checked: nccl.Checked, text: str) -> Measurement:
    """Keep a run as a fact of its type; the same text of the same type is kept once.

    Raises
    ------
    BadQuery
        Where it does not add up, or nothing of that kind is kept.
    """
    held = checked.held
    attribute = f"measured_{held.run.kind}_gbytes_per_s"
    if attribute not in ATTRIBUTES:
        raise BadQuery({"keep": [f"a measured {held.run.kind} is not kept."]})
    spoilt = [said for said in checked.said if said.code in SPOILT]
    if spoilt:
        raise BadQuery({"keep": [f"only a run that adds up is kept: {spoilt[0]}"]})
    if owner.measurements.count() >= MOST:
        raise BadQuery({"keep": [f"{MOST} runs are the most that one user keeps."]})
    digest = hashlib.sha256(text.encode()).hexdigest()
    mine = Measurement.objects.filter(
        owner=owner, instance_type=checked.instance_type, digest=digest
    )
    try:
        with transaction.atomic():
            made = Measurement.objects.create(
                owner=owner,
                instance_type=checked.instance_type,
                kind=held.run.kind,
                gpus=held.run.ranks,
                nodes=held.nodes,
                size=held.run.largest.size,
                bus_gbytes_per_s=held.run.largest.bus_gbytes_per_s,
                text=text,
                digest=digest,
            )
            made.refresh_from_db(fields=["kept_at"])
            ingest.state([fact_of(made, attribute)], origin(made.pk))
    except IntegrityError:
        return mine.get()
    return made


def fact_of(kept: Measurement, attribute: str) -> Fact:
    """What the ledger says of a kept run."""
    value = Decimal(f"{kept.bus_gbytes_per_s:.2f}")
    return Fact(
        subject=kept.subject,
        attribute=attribute,
        value=value,
        basis=Basis.MEASURED,
        source=origin(kept.pk),
        checked=kept.kept_at.date(),
        scope=f"{kept.gpus} GPUs on {kept.nodes} nodes at {kept.size} bytes",
        note=UNVERIFIED,
    )


def origin(pk: Any) -> str:
    """Who states the fact of a kept run; its source, too."""
    return f"measurement:{pk}"


@receiver(post_delete, sender=Measurement)
def withdraw(instance: Measurement, **_: Any) -> None:
    """Supersede the fact of a run that is removed, by its owner, with its owner, or by an admin."""
    ingest.state([], origin(instance.pk))
