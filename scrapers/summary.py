"""What a run came to, told to whoever started it."""

import time
from dataclasses import asdict, dataclass, fields, replace

from catalog.models import QuarantinedRow, RunState, ScrapeRun

SHOWN = 3  # quarantined rows that are told of


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
    refused: tuple[str, ...] = ()  # the first quarantined rows: where, and why
    advice: str = ""  # what stands, and the command to type next

    def as_dict(self) -> dict[str, object]:
        """In the order of the fields; without the words that are for a reader alone."""
        return {k: v for k, v in asdict(self).items() if k not in ("refused", "advice")}

    def told(self) -> str:
        """In words."""
        reason = f" {_sentence(self.reason)}" if self.reason else ""
        more = f" and {self.quarantined - len(self.refused)} more"
        rows = "; ".join(self.refused) + more * (self.quarantined > len(self.refused))
        refused = f" {self.quarantined} quarantined: {rows}." if self.refused else ""
        advice = f" {self.advice}" if self.advice else ""
        return (
            f"{self.provider}: {self.state}.{reason} {self.rows_in} rows: {self.accepted} "
            f"accepted, {self.quarantined} quarantined, {self.ignored} ignored; offers: {self.new} "
            f"new, {self.changed} changed, {self.ended} ended, {self.unchanged} as before. "
            f"Run {self.run}, {self.seconds:.1f} s.{refused}{advice}"
        )


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def summary_of(run: ScrapeRun, began: float) -> Summary:
    """Of a run that has ended, `began` by the monotonic clock."""
    rows = QuarantinedRow.objects.filter(run=run).order_by("id")[:SHOWN] if run.quarantined else ()
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
        tuple(f"{row.where}: {row.reason.rstrip('.')[:160]}" for row in rows),
        _advice(run),
    )


def _advice(run: ScrapeRun) -> str:
    """What a person types next; with it, that nothing was lost."""
    again = f"manage.py scrape {run.provider_id}"
    if run.state == RunState.HELD:
        return f"The last data stand. To publish it: {again} --approve {run.pk}"
    if run.state == RunState.FAILED and run.live:
        return f"The last data stand. To try again: {again}"
    if run.state == RunState.FAILED:
        return f"The last data stand. Once the code reads it: manage.py replay {run.pk}"
    if run.state == RunState.SUPERSEDED and not run.live and run.replay_of_id is None:
        newer = f"{again} --from FILE --collected-at TIME"
        return f"The last data stand. If the file is newer, say when it was read: {newer}"
    if run.state == RunState.SUPERSEDED:
        return f"The last data stand. For newer ones: {again}"
    return ""


def together(whole: Summary, parts: dict[str, Summary]) -> Summary:
    """What a person who asked for the whole is told of its parts: the worst state, and which."""
    counts = {
        f.name: sum(getattr(p, f.name) for p in parts.values())
        for f in fields(Summary)
        if f.type in (int, "int", float, "float")
    }
    worst = next((s for s in WORST_FIRST if s in {p.state for p in parts.values()}), whole.state)
    told = [f"{n}: {p.reason}" for n, p in parts.items() if p.reason and p.state == worst]
    refused = [f"{n}: {row}" for n, part in parts.items() for row in part.refused]
    advised = next((p.advice for p in parts.values() if p.state == worst), whole.advice)
    reason = " ".join([whole.reason, *map(_sentence, told)])[:1000]
    return replace(
        whole,
        **counts,
        state=str(worst),
        reason=reason,
        refused=tuple(refused[:SHOWN]),
        advice=advised,
    )


WORST_FIRST = (
    RunState.FAILED, RunState.HELD, RunState.SUPERSEDED, RunState.PUBLISHED, RunState.UNCHANGED,
)  # fmt: skip
