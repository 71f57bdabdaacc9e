"""Facts into the ledger, and from the ledger the columns of the types they speak of.

Bundled facts and what a live listing says of its own types live in one table; `origin` tells them
apart. What an origin no longer states is superseded, and stays readable.
"""

# ruff: noqa: S608 -- only names of our own are written into SQL; every value is a parameter

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any
from uuid import UUID

from django.db import connection

from catalog.facts import ATTRIBUTES, Finding, gpus
from catalog.known import Spec
from catalog.ledger import spec, text_of
from catalog.models import InstanceType, Region
from catalog.records import Basis, Fact
from catalog.scopes import by_region
from catalog.staging import CursorWrapper, stage

INTERCONNECT = [a.name for a in ATTRIBUTES.values() if a.group in ("inside", "between")]

FACT = {
    "subject": "text",
    "attribute": "text",
    "value": "text",
    "basis": "text",
    "source": "text",
    "checked": "date",
    "scope": "text",
    "provisional": "boolean",
    "note": "text",
}


def accept_facts(
    cursor: CursorWrapper,
    facts: Iterable[Fact],
    origin: str,
    run: UUID | None = None,
    *,
    whole: bool = True,
) -> set[str]:
    """Make `facts` what `origin` states, and answer the subjects of which that changed anything.

    A listing speaks only of the types it lists now: of others its last word stands; and one that
    is not `whole`, only of the attributes that it states. A bundled file (no run) speaks for all
    its lines: a line that is gone is superseded.
    """
    rows = {_statement(fact, origin): fact for fact in dict.fromkeys(facts)}
    stage(cursor, "said", FACT | {"statement": "text"}, (_row(f, s) for s, f in rows.items()))
    what = "subject" if whole else "subject, attribute"
    only_listed = f"and (f.{what.replace(' ', ' f.')}) in (select {what} from said)" if run else ""
    cursor.execute(
        "update catalog_fact f set superseded_at = statement_timestamp() "
        f"where f.superseded_at is null and f.origin = %s {only_listed} "
        "and not exists (select from said where said.statement = f.statement) returning subject",
        [origin],
    )
    touched = {subject for (subject,) in cursor.fetchall()}
    names = ", ".join((*FACT, "statement"))
    cursor.execute(
        f"insert into catalog_fact ({names}, origin, run_id, recorded_at) "
        f"select {names}, %s, %s, statement_timestamp() from said order by statement "
        "on conflict (statement) where superseded_at is null "
        "do update set checked = excluded.checked where excluded.checked > catalog_fact.checked "
        "returning subject",
        [origin, run],
    )
    return touched | {subject for (subject,) in cursor.fetchall()}


def everything_said(cursor: CursorWrapper) -> set[str]:
    """Every subject of which anything is said."""
    cursor.execute("select distinct subject from catalog_fact where superseded_at is null")
    return {subject for (subject,) in cursor.fetchall()}


def _statement(fact: Fact, origin: str) -> str:
    parts = (
        fact.subject, fact.attribute, text_of(fact.value), fact.basis.value, fact.source,
        fact.scope, fact.provisional, fact.note, origin,
    )  # fmt: skip
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=16).hexdigest()


def _row(fact: Fact, statement: str) -> tuple[object, ...]:
    return (
        fact.subject, fact.attribute, text_of(fact.value), fact.basis.value, fact.source,
        fact.checked, fact.scope, fact.provisional, fact.note, statement,
    )  # fmt: skip


# --- The columns of instance types ------------------------------------------------------------


@cache
def columns() -> dict[str, str]:
    """The columns that the ledger sets, each with its SQL type."""
    names = (*Spec({}).columns(), "evidence", "by_region", "checked")
    fields = {name: InstanceType._meta.get_field(name) for name in names}  # noqa: SLF001
    return {name: str(field.db_type(connection)) for name, field in fields.items()}


def respec(cursor: CursorWrapper, subjects: Collection[str]) -> list[int]:
    """Set the columns of the types `subjects` from all live facts; the ids of those that changed.

    A type of which nothing was known before is made here: a fact is enough to list it.
    """
    ledger = _ledger(cursor, subjects)
    types = {subject: facts for subject, facts in ledger.items() if "/" in subject}
    regions = _regions({subject.partition("/")[0] for subject in types})  # COPY lets no query in
    rows = _spec_rows(types, regions)
    stage(cursor, "spec", {"provider": "text", "name": "text"} | columns(), rows)
    add_types(cursor, "spec")
    new = ", ".join(f"{name} = s.{name}" for name in columns())
    before, after = (", ".join(f"{table}.{name}" for name in columns()) for table in ("t", "s"))
    cursor.execute(
        f"update catalog_instancetype t set {new} from spec s "
        "where t.provider_id = s.provider and t.name = s.name "
        f"and ({before}) is distinct from ({after}) returning t.id"
    )
    return [identity for (identity,) in cursor.fetchall()]


def add_types(cursor: CursorWrapper, table: str) -> None:
    """The types named by (provider, name) in a staged table, where they are not there yet."""
    cursor.execute(
        "insert into catalog_provider (slug, title, homepage, also_known_as, source, interval, "
        "credentials, has_scraper) select distinct provider, provider, '', '{}'::text[], '', "
        f"interval '1 day', '{{}}'::text[], false from {table} order by 1 on conflict do nothing"
    )
    cursor.execute(
        "insert into catalog_instancetype (provider_id, name, gpu_candidates, disputed, evidence) "
        "select distinct provider, name, '{}'::text[], '{}'::text[], '{}'::jsonb "
        f"from {table} n where not exists (select from catalog_instancetype t "
        "where t.provider_id = n.provider and t.name = n.name) order by 1, 2 on conflict do nothing"
    )


def _ledger(cursor: CursorWrapper, subjects: Collection[str]) -> dict[str, list[Fact]]:
    cursor.execute(
        f"select {', '.join(FACT)} from catalog_fact "
        "where superseded_at is null and subject = any(%s) order by subject, id",
        [sorted(subjects)],
    )
    ledger: dict[str, list[Fact]] = {subject: [] for subject in sorted(subjects)}
    for row in cursor.fetchall():
        ledger[row[0]].append(fact_of(row))
    return ledger


def fact_of(row: tuple[Any, ...]) -> Fact:
    """A row of the ledger, in the order of FACT, as the plain fact it was."""
    subject, attribute, text, basis, source, checked, scope, provisional, note = row
    value = None if text is None else ATTRIBUTES[attribute].read(text)
    return Fact(subject, attribute, value, Basis(basis), source, checked, scope, provisional, note)


def _spec_rows(
    types: Mapping[str, list[Fact]], regions: Mapping[str, set[str]]
) -> Iterator[tuple[object, ...]]:
    for subject, facts in types.items():
        provider, _, name = subject.partition("/")
        there = by_region(facts, regions.get(provider, ()))
        known = spec(facts)
        values = [
            list(value) if isinstance(value, tuple) else value for value in known.columns().values()
        ]
        said = json.dumps(evidence(known, facts)), json.dumps(there, default=float)
        yield (provider, name, *values, said[0], said[1] if there else None, oldest(known))


def _regions(providers: Collection[str]) -> Mapping[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    rows = Region.objects.filter(provider__in=providers).values_list("provider_id", "region")
    for provider, region in rows:
        found[provider].add(region)
    return found


def oldest(known: Spec) -> date | None:
    """The day of the oldest interconnect fact that speaks."""
    days = [f.fact.checked for name in INTERCONNECT if (f := known.findings.get(name))]
    return min(days, default=None)


def evidence(known: Spec, facts: Iterable[Fact] = ()) -> dict[str, object]:
    """By attribute: what speaks, every other claim beside it, and where was looked in vain."""
    said: dict[str, object] = {name: _entry(f) for name, f in known.findings.items()}
    silent: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.attribute not in said:
            silent[fact.attribute].append(fact)
    return said | {name: _silence(claims) for name, claims in silent.items()}


def _entry(finding: Finding) -> dict[str, object]:
    others = [_claim(fact) for fact in finding.claims if fact is not finding.fact]
    return _claim(finding.fact) | {"disputed": finding.disputed, "claims": others}


def _silence(claims: list[Fact]) -> dict[str, object]:
    """Nobody says it of the whole type: the newest look stands, scoped claims beside it."""
    looked = [fact for fact in claims if fact.value is None] or claims
    newest = max(looked, key=lambda fact: fact.checked)
    others = [_claim(fact) for fact in claims if fact is not newest or fact.value is not None]
    return _claim(newest) | {"value": None, "disputed": False, "claims": others}


def _claim(fact: Fact) -> dict[str, object]:
    value = fact.value
    return {
        "value": float(value) if isinstance(value, Decimal) else value,
        "basis": fact.basis.value,
        "source": fact.source,
        "checked": fact.checked.isoformat(),
        "scope": fact.scope,
        "note": fact.note,
        "provisional": fact.provisional,
    }


def gpu_rows() -> dict[str, dict[str, object]]:
    """The columns of every SKU of gpus.csv."""
    return {
        slug: {name: fact.value for name, fact in said.items()}
        | {"evidence": {name: _claim(fact) for name, fact in said.items()}}
        for slug, said in gpus().items()
    }
