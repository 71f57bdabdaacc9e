"""What an account keeps: comparisons with their answers, and watches over them. Needs a token."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any

from fabricscout.answers import Diff, Run, Saved, Watch
from fabricscout.connection import Connection, Parameters, written
from fabricscout.errors import BadInput, NotFound, asked_as
from fabricscout.rows import Rows


class Comparisons:
    """One's own comparisons, the last edited first.

    Its methods raise a `FabricScoutError`: `NotAllowed` without a token that may do it, `NotFound`
    where the account keeps none of that id.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[Saved]:
        return iter(Rows[Saved](self._connection, "comparisons/", {}))

    def find(self, name: str) -> Saved:
        """The one of that id, or else of that name.

        Raises
        ------
        BadInput
            Where several are called so: it names their ids.
        """
        found = []
        for each in self:
            if each["id"] == name:
                return each
            if each["name"] == name:
                found.append(each)
        if not found:
            raise NotFound(404, "not_found", f"You keep no comparison {name!r}.", {})
        if len(found) > 1:
            ids = ", ".join(each["id"] for each in found)
            said = f"{name!r} is what {len(found)} comparisons are called; give an id: {ids}."
            raise BadInput(400, "ambiguous", said, {"name": [said]})
        return found[0]

    def save(
        self,
        name: str,
        *,
        picks: Sequence[str] = (),
        workload: str | Mapping[str, Any] | None = None,
        gpus: int | None = None,
        where: Parameters | None = None,
        **more: Any,
    ) -> Saved:
        """Keep a question; `run` answers it.

        Parameters
        ----------
        picks
            `provider/instance_type` each, then `;price_model` and `;tier` where they matter.
        workload, gpus
            As of `FabricScout.rank`.
        where
            Which offers, where there are no picks: parameters of `offers`.
        more
            Further keys: `notes, objective, currency, baseline, nodes, workloads`.
        """
        asked = {"workload": workload, "gpus": gpus, **more}
        question = {"name": name, "picks": list(picks), "filter": written(where or {})}
        question |= {key: value for key, value in asked.items() if value is not None}
        saved: Saved = self._connection.send("POST", "comparisons/", question)
        return saved

    def run(self, comparison: str, as_of: str | date | None = None) -> Run:
        """Answer it now, or at the prices of a time, and keep the answer."""
        body = written({"as_of": as_of})
        run: Run = self._connection.send("POST", f"comparisons/{comparison}/run/", body)
        return run

    def diff(self, comparison: str, was: str | None = None, now: str | None = None) -> Diff:
        """What changed between two runs: the ids given, else the last and the one before it."""
        asked = {"from": was, "to": now}
        diff: Diff = self._connection.get(f"comparisons/{comparison}/diff/", asked)
        return diff

    def delete(self, comparison: str) -> None:
        """End it, its runs, its links and its watches."""
        self._connection.send("DELETE", f"comparisons/{comparison}/")


class Watches:
    """One's own watches, the newest first; raises as `Comparisons` does."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __iter__(self) -> Iterator[Watch]:
        return iter(self._connection.get("watches/")["results"])

    def create(
        self,
        comparison: str,
        what: str,
        *,
        threshold: float | None = None,
        webhook: str | None = None,
        pace: str | None = None,
    ) -> Watch:
        """Watch a comparison, by its id. A webhook's `secret` is in this answer alone.

        Parameters
        ----------
        what
            `price`, `spec`, `rank` or `availability`.
        threshold
            Percent of a price, places of a rank; None: the service's own.
        webhook
            Where to; None: by mail to the account's address.
        pace
            Of mails: `daily` or `at_once`.
        """
        channel = {"channel": "webhook", "url": webhook} if webhook else {"channel": "mail"}
        asked = {"what": what, "threshold": threshold, "pace": pace, **channel}
        body = {key: value for key, value in asked.items() if value is not None}
        with asked_as(url="webhook"):
            watch: Watch = self._connection.send(
                "POST", f"comparisons/{comparison}/watches/", body, secret=True
            )
        return watch

    def test(self, watch: str) -> dict[str, Any]:
        """Send a test message; the delivery, of which the service's log says what came."""
        delivery: dict[str, Any] = self._connection.send("POST", f"watches/{watch}/test/")
        return delivery

    def delete(self, watch: str) -> None:
        """End it, with its log."""
        self._connection.send("DELETE", f"watches/{watch}/")
