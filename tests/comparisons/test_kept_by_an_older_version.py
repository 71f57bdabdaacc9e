"""A run that an older version of the code kept stays readable, whatever it did not keep yet."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import pytest

from comparisons import exports, rfq, runs
from comparisons.changes import changes, summary
from comparisons.compare_page import shown
from comparisons.form import FORM, Each, read
from comparisons.keeping import share, shared_at
from comparisons.models import Run

Path = tuple[str, ...]


def optional(form: Any = FORM, at: Path = ()) -> Iterator[Path]:
    """Where each key of the form stands; `*` is every row, or every name."""
    match form:
        case Each():
            yield from optional(form.form, (*at, "*"))
        case [one]:
            yield from optional(one, (*at, "*"))
        case dict():
            for name, each in form.items():
                yield (*at, name)
                yield from optional(each, (*at, name))


OFFER = ("offers", "*", "offer")
ESTIMATE = ("workloads", "*", "results", "*", "estimate")
ALWAYS = {  # which offer it is, and what the first version said of it
    ("offers",), OFFER, (*OFFER, "provider"), (*OFFER, "instance_type"), ESTIMATE,
    (*ESTIMATE, "step_time_s"), (*ESTIMATE, "interval"), (*ESTIMATE, "interval", "low"),
    (*ESTIMATE, "interval", "high"),
}  # fmt: skip
PATHS = [path for path in optional() if path not in ALWAYS]


def without(kept: Any, path: Path) -> Any:
    """The same as a version kept it that did not know this key."""
    kept = deepcopy(kept)
    drop(kept, path)
    return kept


def drop(kept: Any, path: Path) -> None:
    name, *rest = path
    if kept is None:
        return
    if name == "*":
        for each in kept.values() if isinstance(kept, dict) else kept:
            drop(each, tuple(rest))
    elif rest:
        drop(kept.get(name), tuple(rest))
    else:
        kept.pop(name, None)


def put(run: Run, kept: Any) -> Run:
    """The same run as that version wrote it; what is written once is never changed."""
    run.delete()
    about = ("comparison", "catalog_version", "catalog_changed_at", "model_version")
    return Run.objects.create(**{name: getattr(run, name) for name in about}, results=kept)


@pytest.fixture
def kept(saved, market) -> Run:
    """A run of a market that moved: a dearer type, and one that is gone."""
    one = saved()
    runs.make(one)
    market(days=1, ib="26", roce=None)
    return runs.make(one)


def test_each_key_alone_may_be_missing(kept):
    now = Run.objects.get(pk=kept.pk).results
    for path in PATHS:
        older = read(without(now, path))
        shown(older)
        list(exports.of_run(older))
        rfq.text(older, "Q1")
        for was, is_now in ((older, now), (now, older), (older, older)):
            found = changes(was, is_now)
            summary(found)
            [change.as_json() for change in found]


@pytest.mark.parametrize("depth", range(1, 1 + max(map(len, PATHS))))
def test_every_door_reads_a_run_without_all_of_them(kept, as_ada, depth):
    older = Run.objects.get(pk=kept.pk).results
    for path in PATHS:
        if len(path) == depth:
            drop(older, path)
    kept = put(kept, older)
    one = kept.comparison
    _link, token = share(one)
    api = f"/api/v1/comparisons/{one.pk}"
    for address in (
        "/comparisons/",
        f"/comparisons/{one.pk}/",
        f"/comparisons/{one.pk}/?run={runs.before(kept).pk}&from={kept.pk}",
        f"/comparisons/{one.pk}/questions/",
        shared_at(token),
        f"{api}/",
        f"{api}/runs/{kept.pk}/",
        f"{api}/runs/{kept.pk}/?format=csv",
        f"{api}/export/?format=csv",
        f"{api}/diff/",
        f"{api}/diff/?format=csv",
        f"{api}/rfq/",
    ):
        assert as_ada.get(address).status_code == 200, address


def test_what_was_kept_stays_as_it_is(kept):
    now = Run.objects.get(pk=kept.pk).results
    assert read(now) == now
    first, *_ = now["workloads"][0]["results"]
    assert first["besides"]["egress_usd_per_gb"] is None
