"""What an owner orders: a new watch, a change of it, another secret, a delivery once more."""

from django.db import transaction
from django.utils.translation import gettext as _

from accounts.owned import held
from catalog.query import Contradicts
from comparisons.models import Comparison
from watches import asked, looking, outbox, signing
from watches.models import Delivery, Pace, State, Stop, Watch

SHOWN = 100  # deliveries of a log, the newest
MOST_EARLIER = 5  # secrets that are valid besides the one of now


@transaction.atomic
def create(comparison: Comparison, body: object, *, language: str) -> Watch:
    """A new watch of a comparison; its mails are in this language.

    Raises
    ------
    Http404
        Where the comparison was deleted meanwhile.
    BadQuery
        Naming what is wrong.
    Contradicts
        Where the account has as many as it may.
    """
    wish = asked.created(body)
    of = held(Comparison.objects.filter(pk=comparison.pk).select_related("owner"))
    owner = of.owner_id
    if Watch.objects.filter(owner=owner).count() >= asked.MOST_WATCHES:
        said = _("An account has at most %(most)d watches.") % {"most": asked.MOST_WATCHES}
        raise Contradicts({"watch": [said]})
    watch = Watch(
        **wish,
        owner=of.owner,
        comparison=of,
        lane=asked.lane(wish["channel"], wish["url"], owner),
        language=language,
    )
    looking.begin(watch)
    watch.refresh_from_db(fields=["created_at"])
    return watch


@transaction.atomic
def change(watch: Watch, body: object) -> None:
    """What a body says of a watch that there is.

    Raises
    ------
    Http404
        Where it was deleted meanwhile.
    BadQuery
        Naming what is wrong.
    """
    watch = held(Watch.objects.filter(pk=watch.pk).defer("known"))
    said = asked.changed(body, watch)
    active = said.pop("active", None)
    if "url" in said:
        said["lane"] = asked.lane(watch.channel, said["url"], watch.owner_id)
    if said:
        Watch.objects.filter(pk=watch.pk).update(**said)
    if said.get("pace") == Pace.AT_ONCE:
        outbox.hurry(watch)
    if active is not None and active != watch.active:
        outbox.resume(watch) if active else outbox.stop(watch, Stop.OWNER)


@transaction.atomic
def rotate(watch: Watch) -> Watch:
    """The same watch with a new secret; each that it had holds for a day after it was changed.

    Raises
    ------
    Http404
        Where it was deleted meanwhile.
    """
    watch = held(Watch.objects.filter(pk=watch.pk).defer("known"))
    now = outbox.clock()
    ended = [[watch.seed, now.isoformat()], *outbox.still_valid(watch, now)]
    watch.seed, watch.earlier, watch.rotated_at = signing.new_seed(), ended[:MOST_EARLIER], now
    watch.save(update_fields=["seed", "earlier", "rotated_at"])
    return watch


def again(delivery: Delivery) -> str | None:
    """Schedule it anew; or why that cannot be."""
    if delivery.state == State.SCHEDULED:
        return _("It is waiting to be sent already.")
    if not delivery.event.watch.active:
        return _("The watch is paused: let it go on, and what it kept back is sent.")
    outbox.send_again(delivery)
    return None


def log_of(watch: Watch) -> list[Delivery]:
    """Its newest deliveries, with every try."""
    found = Delivery.objects.with_turn().filter(event__watch=watch).select_related("event")
    return list(found.prefetch_related("log").order_by("-event__number")[:SHOWN])
