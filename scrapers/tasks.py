"""What Celery runs. Each is thin, safe to run twice, and loses nothing with its message.

Messages are only wake-ups: `tick` asks Postgres what is due, and sends again what was lost.
"""

from celery import shared_task

from accounts import retention as of_accounts
from catalog import exchange
from catalog.retention import forget
from scrapers import errands, leases, rates, runs
from scrapers.registry import PROVIDERS

EXPIRES_SECONDS = 30.0


@shared_task(name="scrapers.tick")  # type: ignore[untyped-decorator]
def tick() -> None:
    """End what was lost, and wake a worker for each provider that is due."""
    leases.register(PROVIDERS.values())
    leases.bury()
    if errands.waiting():
        run_errands.apply_async(expires=EXPIRES_SECONDS)
    _wake()


def _wake() -> None:
    for due in leases.due():
        scrape.apply_async(due, expires=EXPIRES_SECONDS)


@shared_task(name="scrapers.scrape")  # type: ignore[untyped-decorator]
def scrape(slug: str, part: str = "") -> None:
    """The whole first arrow for one provider, or for one part of its list that is read in parts.

    Nothing when it is not due or another has it. A list in parts is read to learn which there are;
    each is a task of its own then, with its own lease, deadline, payload and failure.
    """
    if slug in PROVIDERS and runs.scrape_due(slug, part) and runs.is_in_parts(slug, part):
        _wake()


@shared_task(name="scrapers.run_errands")  # type: ignore[untyped-decorator]
def run_errands() -> None:
    """What people have asked for in the admin: lists to replay, or to let through."""
    errands.run()


@shared_task(name="scrapers.refresh_rates")  # type: ignore[untyped-decorator]
def refresh_rates() -> None:
    """The day's exchange rates, when they are due; nothing when another has just read them."""
    if exchange.is_due():
        rates.refresh()


@shared_task(name="scrapers.retain")  # type: ignore[untyped-decorator]
def retain() -> None:
    """Let go of what is past its time: payloads, quarantined rows, sessions, kept answers."""
    forget()
    of_accounts.forget()
