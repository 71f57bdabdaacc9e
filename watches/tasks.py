"""What Celery runs. Each is thin, safe to run twice, and loses nothing with its message.

What is due stands in Postgres: `tick` asks, and sends again what was lost.
"""

from uuid import UUID

from celery import shared_task

from watches import outbox
from watches.models import Watch

EXPIRES_SECONDS = 30.0


@shared_task(name="watches.tick")  # type: ignore[untyped-decorator]
def tick() -> None:
    """Wake a worker for what is to be sent, and for each comparison to look at again."""
    if outbox.is_due():
        deliver.apply_async(expires=EXPIRES_SECONDS)
    for comparison in Watch.objects.to_look_at():
        look.apply_async((str(comparison),), expires=EXPIRES_SECONDS)


@shared_task(name="watches.deliver")  # type: ignore[untyped-decorator]
def deliver() -> None:
    """Send what is due."""
    outbox.deliver()


@shared_task(name="watches.look")  # type: ignore[untyped-decorator]
def look(comparison: str) -> None:
    """Run a watched comparison again, as the catalog has changed."""
    from watches import looking  # noqa: PLC0415 -- the cost model, which beat does without

    looking.look(UUID(comparison))


@shared_task(name="watches.forget")  # type: ignore[untyped-decorator]
def forget() -> None:
    """Let go of deliveries that are past, with their log."""
    outbox.forget()
