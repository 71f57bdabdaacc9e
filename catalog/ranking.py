"""The pages of workloads: the list, and the ranking of clusters by what a job costs on each."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from catalog import estimates, phrases, presets, replies, wording
from catalog.currency import Money
from catalog.freshness import dated
from catalog.left_out import by_kind
from catalog.models import Provider
from catalog.page_money import header, of_page
from catalog.query import BadQuery
from catalog.ranking_charts import charts
from catalog.ranking_query import OWN, Asking, nearest, readable
from catalog.ranking_rows import fields, finding, page_of, per, record, row_of
from catalog.templatetags.quantities import number, whole

__all__ = ["OBJECTIVES", "errors", "ranking", "row_of", "scenario_title", "workloads"]

OBJECTIVES = {
    "usd_per_mtoken": _("$ per million tokens"),
    "time": _("time"),
    "efficiency": _("scaling efficiency"),
    "gpus": _("fewest GPUs"),
}
BY_PRICE = {"usd_per_mtoken", "gpus"}  # of equal counts the cheapest
SIZES = (8, 64, 256, 1024)
SAME = 0.005  # a change of time below this share reads as none
PATIENCE_S = 1.5  # that a reader waits for the ranking, or else for how far it is


@require_safe
def workloads(request: HttpRequest) -> HttpResponse:
    """Every workload that can be ranked; a form's choice leads on to its page."""
    shown, now = of_page(request.GET, request.path), presets.state(request.GET)
    if shown["problems"]:
        now.pop("currency")
    context = {
        "room": "workloads",
        "workloads": [described(workload) for workload in estimates.workloads()],
        "sizes": SIZES,
        **shown,
        "passed": f"?{passed}" if (passed := urlencode(now)) else "",
        "passed_on": f"&{passed}" if passed else "",
    }
    status = 400 if shown["problems"] else 200
    return render(request, "catalog/workloads.html", context, status=status)


@require_safe
def ranking(request: HttpRequest, slug: str) -> HttpResponseBase:
    """Clusters for one workload, best first, and those left out; or the table as a file."""
    chosen = next((w for w in estimates.workloads() if w["slug"] == slug), None)
    if chosen is None:
        raise Http404
    has_tokens = chosen["kind"] != "custom"
    asking = readable(request.GET, request.path, has_tokens=has_tokens)
    title = heading(chosen["title"], asking.own["gpus"], asking.own["nodes"])
    if asking.form:
        return _file(slug, asking)
    too_much = ""
    until = time.monotonic() + PATIENCE_S
    try:
        result = estimates.rank(
            slug, query=asking.offers, scenarios=True, until=until, **asking.own
        )
    except estimates.Unfinished as far:
        return waiting(request, title, far)
    except estimates.TooMuch as cap:
        too_much, result = str(cap), {"results": [], "left_out": []}
    titles = dict(Provider.objects.values_list("slug", "title"))
    context = {
        "room": "workloads",
        "workload": described(chosen),
        "heading": title,
        "amounts": amounts(asking.now, has_tokens=has_tokens),
        "too_much": too_much,
        **_asked(asking, slug, titles),
        **_answered(result, asking, titles),
    }
    status = 422 if too_much else 400 if asking.problems else 200
    return render(request, "catalog/ranking.html", context, status=status)


def _asked(asking: Asking, slug: str, titles: presets.State) -> dict[str, Any]:
    """The form and the chips: what the address says."""
    now, own, path = asking.now, asking.own, asking.path
    return {
        **{name: own[name] for name in own if name != "what_if"},
        "supposed": own["what_if"],
        "scenarios": [(name, scenario_title(name)) for name in estimates.SCENARIOS],
        "objectives": [(name, asking.money.heading(said)) for name, said in OBJECTIVES.items()],
        "chips": list(presets.chips(path, now, asking.query, titles)),
        "narrow": list(narrower(path, now)),
        "kept": [pair for pair in now.items() if pair[0] not in OWN],
        "saved_as": presets.link("", {"workload": slug, **_counted(own), **_saved(now)}),
        "problems": asking.problems,
        "opposed": presets.contradicting(path, now, asking.query, titles),
        **header(path, now, asking.money),
    }


def _answered(result: Mapping[str, Any], asking: Asking, titles: presets.State) -> dict[str, Any]:
    """The table, and what is said of the ranking as a whole."""
    results, now, money, path = result["results"], asking.now, asking.money, asking.path
    part = Part.of(asking, len(results))
    leading = page_of(results[: part.size], money)
    rows = leading if part.page == 1 else page_of(part.cut(results), money)
    first: dict[str, Any] = next(iter(results), {})
    return {
        "per": per(results),
        "rows": rows,
        "part": part,
        "over": any(row["over"] for row in rows),
        "links": {
            "csv": presets.link(path, now, page=now.get("page"), format="csv"),
            "json": presets.link(path, now, page=now.get("page"), format="json"),
            **part.links(path, now),
        },
        "finding": finding(leading, asking.own["objective"], result.get("doubt"), money),
        "settled_by": settling(result.get("doubt"), titles),
        "wish": wished(result.get("wish"), money, titles),
        "nearest": nearest(result.get("nearest"), path, now, titles),
        "what_if": what_if(first, asking),
        "advice": first.get("advice"),
        "nccl_tests": first.get("nccl_tests"),
        "dated": dated_of(results, asking),
        **charts(result, leading),
        "left_out": by_kind(result["left_out"]),
        "left_out_count": len(result["left_out"]),
        "validation": errors(result.get("validation")),
        "model_version": result.get("model_version"),
    }


def dated_of(results: Sequence[Mapping[str, Any]], asking: Asking) -> str:
    """Which prices are past their limit of age; of some it is told where they are put last."""
    found = dated(result["offer"] for result in results)
    put_last = asking.own["objective"] in BY_PRICE and not asking.query.include_stale
    return found if found == "all" or put_last else ""


@dataclass(frozen=True, slots=True)
class Part:
    """The clusters of one page of a ranking, by place."""

    page: int
    pages: int
    size: int
    all: int

    @classmethod
    def of(cls, asking: Asking, count: int) -> "Part":
        """The page that is asked for, of so many clusters.

        Beyond the last a reader gets the last, and a file is empty: who reads on until then ends.
        """
        size = max(count, 1) if asking.query.whole else asking.query.page_size
        pages = max(-(-count // size), 1)
        page = asking.page if asking.form else min(asking.page, pages)
        return cls(page, pages, size, count)

    def cut(self, results: Sequence[Any]) -> Sequence[Any]:
        """Those on it."""
        return results[self.size * (self.page - 1) : self.size * self.page]

    @property
    def first(self) -> int:
        """The place of the first on it, from 1."""
        return self.size * (self.page - 1) + 1

    @property
    def last(self) -> int:
        """The place of the last on it."""
        return min(self.size * self.page, self.all)

    def links(self, path: str, now: Mapping[str, str]) -> dict[str, str | None]:
        """The addresses of its neighbours; None where there is none."""
        ahead = str(self.page + 1) if self.page < self.pages else None
        behind = str(min(self.page - 1, self.pages)) if self.page > 1 else None
        return {
            "next": ahead and presets.link(path, now, page=ahead),
            "previous": behind and presets.link(path, now, page=behind if behind != "1" else None),
        }


def _file(slug: str, asking: Asking) -> HttpResponseBase:
    """The very table of the page, as CSV, NDJSON or JSON."""
    if asking.problems:
        wrong = {each["parameter"]: [each["must_be"]] for each in asking.problems}
        return replies.error_response(BadQuery(wrong), {}) or replies.json(None)
    try:
        result = estimates.rank(slug, query=asking.offers, scenarios=True, **asking.own)
    except estimates.TooMuch as cap:
        return replies.problem(422, "too_much", str(cap))
    results, money = result["results"], asking.money
    part = Part.of(asking, len(results))
    rows = part.cut(results)
    now = {**asking.now, "format": asking.form}
    said = {
        "count": part.all,
        "page": part.page,
        "pages": part.pages,
        **part.links(asking.path, now),
        "left_out": len(result["left_out"]),
        "catalog_as_of": result["catalog_as_of"],
        "model_version": result["model_version"],
        "currency": money.currency and money.currency.as_json(),
        **{name: result[name] for name in ("contradictions",) if name in result},
    }
    name = "-".join(filter(None, (slug, *map(str, _counted(asking.own).values()))))
    made = (replies.dumped(record(each, money)) for each in rows)
    return replies.listed(name, asking.form, fields(results, money), made, said, whole=False)


def waiting(request: HttpRequest, title: str, far: estimates.Unfinished) -> HttpResponse:
    """How far the ranking is. The browser asks again by itself, and what was computed is kept."""
    context = {"room": "workloads", "heading": title, "done": far.done, "of": far.of}
    response = render(request, "catalog/ranking_wait.html", context)
    response["Refresh"] = "0"
    response["Cache-Control"] = "no-store"
    return response


def _counted(own: Mapping[str, Any]) -> dict[str, str]:
    """The count that is asked for; none where a wish finds it."""
    return {name: str(own[name]) for name in ("gpus", "nodes") if own[name] is not None}


def _saved(now: Mapping[str, str]) -> dict[str, str]:
    """What a comparison keeps of a ranking, besides workload and count: objective and filters."""
    kept = {name: text for name, text in now.items() if name == "objective" or name not in OWN}
    return {name: text for name, text in kept.items() if name != "page_size"}


def narrower(path: str, now: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Filters that most rankings want, as one click each."""
    for title, wanted in (presets.PRESETS[2], (_("On demand only"), {"price_model": "on_demand"})):
        if not set(wanted) & set(now) and not (wanted.get("nvlink") and "infiniband" in now):
            yield {"title": str(title), "href": presets.link(path, now, **wanted)}


def described(workload: Mapping[str, Any]) -> dict[str, Any]:
    """A workload with its parameters in one line."""
    job = workload["job"]
    said = [
        gettext("sequence %(n)s") % {"n": number(job["seq_len"])} if job.get("seq_len") else "",
        gettext("prompt %(n)s") % {"n": number(job["prompt_len"])} if job.get("prompt_len") else "",
        gettext("batch %(n)s") % {"n": number(job["global_batch"])}
        if job.get("global_batch")
        else "",
        gettext("at most %(n)s ms a token") % {"n": number(job["max_tpot_ms"])}
        if job.get("max_tpot_ms")
        else "",
        str(job.get("precision", "")).upper(),
    ]
    return {
        **workload,
        "title": phrases.said(workload["title"]),
        "parameters": gettext(", ").join(filter(None, said)),
    }


# --- The form ---------------------------------------------------------------------------------


def heading(title: str, gpus: int | None, nodes: int | None = None) -> str:
    """What is ranked: on a count of GPUs or instances, or on the fewest that do."""
    title = phrases.said(title)
    if nodes is not None:
        return ngettext("%(title)s on %(n)s instance", "%(title)s on %(n)s instances", nodes) % {
            "title": title,
            "n": number(nodes),
        }
    if gpus is None:
        return gettext("%(title)s: the fewest GPUs that do") % {"title": title}
    return ngettext("%(title)s on %(n)s GPU", "%(title)s on %(n)s GPUs", gpus) % {
        "title": title, "n": number(gpus),
    }  # fmt: skip


def amounts(now: Mapping[str, str], *, has_tokens: bool) -> list[dict[str, str]]:
    """The fields of the form for how much there is to do, by when, for how much."""
    work = ("tokens", gettext("Tokens"), "1T") if has_tokens else ("steps", gettext("Steps"), "1M")
    fields = (
        ("hours", gettext("Hours"), gettext("any")),
        work,
        ("deadline_hours", gettext("Within hours"), "720"),
        ("budget_usd", gettext("Budget, $"), "2M"),
    )
    return [
        {"name": name, "title": title, "hint": hint, "value": now.get(name, "")}
        for name, title, hint in fields
    ]


def scenario_title(name: str) -> str:
    """A scenario in words."""
    titles = {
        "rdma_off": gettext("without GPUDirect RDMA"),
        "sockets": gettext("TCP sockets instead of RDMA"),
        "oversubscribed_2_to_1": gettext("oversubscribed 2:1"),
        "half_the_nics": gettext("half the NICs"),
        "twice_the_fabric": gettext("twice the fabric rate"),
        "roce": gettext("RoCE instead of InfiniBand"),
        "infiniband": gettext("InfiniBand instead"),
        "domain_72": gettext("a domain of 72 GPUs"),
        "domain_8": gettext("domains of 8 GPUs"),
        "second_site": gettext("half of it in another data centre"),
    }
    return titles.get(name, name)


def what_if(first: Mapping[str, Any], asking: Asking) -> dict[str, Any]:
    """The scenarios of the first cluster: those that change its time, and those that do not."""
    changes = [change(each, first["offer"], asking) for each in first.get("what_if", ())]
    return {
        "changing": [each for each in changes if each["changes"]],
        "same": [each for each in changes if not each["changes"]],
    }


def change(held: Mapping[str, Any], offer: Mapping[str, Any], asking: Asking) -> dict[str, Any]:
    """A scenario as its row shows it: time and money beside what they are."""
    ratio, premium = held["time_ratio"], held["premium_usd_per_gpu_hour"]
    return {
        "title": scenario_title(held["scenario"]),
        "href": presets.link(asking.path, asking.now, what_if=held["scenario"]),
        "changes": ratio is None or abs(ratio - 1) >= SAME,
        "percent": None if ratio is None else _signed(100 * (ratio - 1), 1),
        "even": asking.money.amount(held["break_even_usd_per_gpu_hour"], offer),
        "premium": None
        if premium is None
        else _signed(asking.money.amount(premium, offer) or 0, 2),
    }


def _signed(value: float, digits: int) -> str:
    """With its sign; what rounds to nothing has none."""
    text = f"{value:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def wished(
    wish: Mapping[str, Any] | None, money: Money, titles: presets.State
) -> dict[str, Any] | None:
    """A wish with who keeps it and what that costs, in words."""
    if not wish:
        return None
    said = dict(wish)
    for name in ("smallest", "nearest"):
        if found := wish.get(name):
            usd = found.get("usd")
            paid = usd and money.said(whole(money.amount(usd["expected"])))
            said[name] = _titled(found, titles) | {"paid": paid}
    return said


def settling(doubt: Mapping[str, Any] | None, titles: presets.State) -> dict[str, Any] | None:
    """The one fact to ask for, with its name in words."""
    said = (doubt or {}).get("settled_by")
    return said and _titled(said, titles) | {"fact": wording.title(said["fact"])}


def _titled(found: Mapping[str, Any], titles: presets.State) -> dict[str, Any]:
    """With the provider as it calls itself."""
    return {**found, "provider": titles.get(found["provider"], found["provider"])}


def errors(validation: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The model's measured error in whole percent: from ln(predicted / measured)."""
    if not validation or validation.get("median_abs_error") is None:
        return None
    return {
        "median": f"{100 * validation['median_abs_error']:.1f}",
        "p90": f"{100 * validation['p90_abs_error']:.1f}",
        "rows": validation["rows"],
        "configurations": validation.get("configurations", validation["rows"]),
    }
