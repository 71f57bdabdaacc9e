"""Keeping a run: from then on a fact of its type says what was measured, by a user, unverified.

The fact has a scope (so many GPUs and bytes), so it stands beside the nominal values, disputes none
of them and fills no column: filters and the model never read it.
"""

from decimal import Decimal
from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils.translation import gettext

from catalog import ingest, nccl
from catalog.facts import ATTRIBUTES
from catalog.query import BadQuery, Contradicts
from catalog.records import Basis, Fact
from measurements.models import Measurement

MOST = 500  # that one user keeps
UNVERIFIED = "not verified"


def keep(owner: User, checked: nccl.Checked, text: str) -> Measurement:
    """Keep a run as a fact of its type; the same run of the same type is kept once.

    Raises
    ------
    BadQuery
        Where it does not add up, or nothing of that kind is kept.
    Contradicts
        Where the user keeps as many as one may.
    """
    held = checked.held
    attribute = f"measured_{held.run.kind}_gbytes_per_s"
    if attribute not in ATTRIBUTES:
        what = {"kind": held.run.kind}
        raise BadQuery({"keep": [gettext("a measured %(kind)s is not kept.") % what]})
    if checked.against:
        why = {"why": nccl.words(checked.against[0])}
        raise BadQuery({"keep": [gettext("only a run that adds up is kept: %(why)s") % why]})
    if owner.measurements.count() >= MOST:
        most = {"most": MOST}
        raise Contradicts(
            {"keep": [gettext("%(most)s runs are the most that one user keeps.") % most]}
        )
    digest = checked.digest
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
                text=text.replace("\x00", ""),
                digest=digest,
            )
            made.refresh_from_db(fields=["kept_at"])
            ingest.state([fact_of(made, attribute)], origin(made.pk))
    except IntegrityError:
        if kept := mine.first():
            return kept
        raise  # its user or its type is gone
    return made


def fact_of(kept: Measurement, attribute: str) -> Fact:
    """What the ledger says of a kept run."""
    value = Decimal(f"{kept.bus_gbytes_per_s:.2f}")
    nodes = f"{kept.nodes} {'node' if kept.nodes == 1 else 'nodes'}"
    return Fact(
        subject=kept.subject,
        attribute=attribute,
        value=value,
        basis=Basis.MEASURED,
        source=origin(kept.pk),
        checked=kept.kept_at.date(),
        scope=f"{kept.gpus} GPUs on {nodes} at {kept.size} bytes",
        note=UNVERIFIED,
    )


def origin(pk: Any) -> str:
    """Who states the fact of a kept run; its source, too."""
    return f"measurement:{pk}"


@receiver(post_delete, sender=Measurement)
def withdraw(instance: Measurement, **_: Any) -> None:
    """Supersede the fact of a run that is removed, by its owner, with its owner, or by an admin."""
    ingest.state([], origin(instance.pk))
