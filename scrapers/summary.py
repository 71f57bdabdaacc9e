"""What a run came to, told to whoever started it."""

import time
from dataclasses import asdict, dataclass, fields, replace

from catalog.models import RunState, ScrapeRun


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run came to, as `scrape --json` prints it."""

    provider: str
    run: str
    state: str
    rows_in: int
    accepted: int
    quarantined: int
    ignored: int
    new: int
    changed: int
    ended: int
    unchanged: int
    reason: str
    seconds: float

    def as_dict(self) -> dict[str, object]:
        """In the order of the fields."""
        return asdict(self)

    def told(self) -> str:
        """In words."""
        reason = f" {self.reason}" if self.reason else ""
        return (
            f"{self.provider}: {self.state}.{reason} {self.rows_in} rows: {self.accepted} "
            f"accepted, {self.quarantined} quarantined, {self.ignored} ignored; offers: {self.new} "
            f"new, {self.changed} changed, {self.ended} ended, {self.unchanged} as before. "
            f"Run {self.run}, {self.seconds:.1f} s."
        )


def summary_of(run: ScrapeRun, began: float) -> Summary:
    """Of a run that has ended, `began` by the monotonic clock."""
    return Summary(
        run.provider_id,
        str(run.pk),
        str(run.state),
        run.rows_in,
        run.accepted,
        run.quarantined,
        run.ignored,
        run.offers_new,
        run.offers_changed,
        run.offers_ended,
        run.offers_unchanged,
        run.reason,
        round(time.monotonic() - began, 3),
    )


def together(whole: Summary, parts: dict[str, Summary]) -> Summary:
    """What a person who asked for the whole is told of its parts: the worst state, and which."""
    counts = {
        f.name: sum(getattr(p, f.name) for p in parts.values())
        for f in fields(Summary)
        if f.type in (int, "int", float, "float")
    }
    worst = next((s for s in WORST_FIRST if s in {p.state for p in parts.values()}), whole.state)
    told = [f"{n}: {p.reason}" for n, p in parts.items() if p.reason and p.state == worst]
    return replace(whole, **counts, state=str(worst), reason=" ".join([whole.reason, *told])[:1000])


WORST_FIRST = (
    RunState.FAILED, RunState.HELD, RunState.SUPERSEDED, RunState.PUBLISHED, RunState.UNCHANGED,
)  # fmt: skip
