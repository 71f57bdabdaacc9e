"""The workloads of an answer, in words: what each is called, and on how much it is to run."""

import json
from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext, ngettext

from catalog import phrases
from catalog.templatetags.quantities import number
from comparisons.columns import beside
from comparisons.form import Snapshot

Row = Mapping[str, Any]


def titles(answer: Snapshot) -> list[str]:
    """Of each workload, told apart by its GPUs or instances where two have one title."""
    found = [each["workload"]["title"] for each in answer["workloads"]]
    count = Counter(found)
    return [
        title if count[title] == 1 else beside(title, size(each))
        for title, each in zip(found, answer["workloads"], strict=True)
    ]


def size(workload: Row) -> str:
    """On how much a workload is to run, in words."""
    if n := workload["nodes"]:
        return ngettext("%(n)s instance", "%(n)s instances", n) % {"n": number(n)}
    n = workload["gpus"]
    if n is None:  # an older version did not keep it
        return gettext("unknown")
    return ngettext("%(n)s GPU", "%(n)s GPUs", n) % {"n": number(n)}


def asked_on(answer: Row) -> str:
    """The job, and on how much of it."""
    title = phrases.said(answer["workload"]["title"])
    if n := answer["nodes"]:
        said = ngettext("For %(title)s on %(n)s instance", "For %(title)s on %(n)s instances", n)
    elif (n := answer["gpus"]) is None:
        return title
    else:
        said = ngettext("For %(title)s on %(n)s GPU", "For %(title)s on %(n)s GPUs", n)
    return said % {"title": title, "n": number(n)}


def identity(workload: Row) -> str:
    """The same of two answers that ask for the same work."""
    about = [workload[name] for name in ("workload", "gpus", "nodes")]
    return json.dumps(about, sort_keys=True)  # a table gives keys back in an order of its own
