"""The Python client against the running service."""

import socket
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, get_type_hints

import pytest

from fabricscout import (
    ApiError,
    BadInput,
    FabricScout,
    NotAllowed,
    NotFound,
    TooManyRequests,
    Unreachable,
    answers,
    comparing,
)
from fabricscout.changes import SHOWN, changes, held, risen
from tests.e2e.conftest import serving

H100 = "azure/Standard_ND96isr_H100_v5"


def key(offer: Mapping[str, Any]) -> tuple[Any, ...]:
    names = ("provider", "via", "instance_type", "region", "tier", "price_model")
    return tuple(offer[name] for name in names)


# --- Lists --------------------------------------------------------------------------------------


def test_a_list_is_read_to_its_end_a_page_at_a_time(scout):
    rows = scout.offers(gpu=["h100-sxm5-80gb", "h200-sxm5-141gb"], page_size=20, count=True)
    found = [key(offer) for offer in rows]
    assert len(found) == len(set(found)) == rows.about["count"] > 60
    whole = scout.offers(gpu="h100-sxm5-80gb,h200-sxm5-141gb")
    assert [key(offer) for offer in whole] == found


def test_what_an_unknown_kept_out_is_said_besides_the_rows(scout):
    rows = scout.offers(infiniband=True)
    assert rows.about["left_out"] == rows.about["left_out_by"]["infiniband"] > 0


def test_parameters_are_written_as_the_api_reads_them(scout):
    day = date(2026, 11, 1)
    asked = scout.offers(nvlink=False, fields=("provider", "scale_up"), as_of=day, tier=None)
    assert {frozenset(row) for row in asked} == {frozenset(("provider", "scale_up"))}
    assert not {row["scale_up"] for row in asked} & {"nvswitch", "nvlink_mesh", "nvlink_bridge"}


@pytest.mark.parametrize(
    ("door", "form"),
    [("offers", answers.Offer), ("facts", answers.Fact), ("prices", answers.Price),
     ("fabrics", answers.Fabric)],
)  # fmt: skip
def test_the_types_say_what_the_rows_have(scout, door, form):
    rows = [*getattr(scout, door)(page_size=500)][:2000]
    assert {frozenset(row) for row in rows} == {frozenset(form.__annotations__)}
    for name, kind in get_type_hints(form).items():
        if kind is not Any:
            said = {type(row[name]) for row in rows}
            assert said <= allowed(kind), name


def allowed(kind: Any) -> set[type]:
    """The types that JSON may have where a hint says so; a whole float is written as an int."""
    kinds = set(getattr(kind, "__args__", ())) or {kind}
    if getattr(kind, "__origin__", None) is not None:  # list[str], dict[str, Any], Literal[...]
        origin = kind.__origin__
        return {origin} if isinstance(origin, type) else {str}
    plain = {getattr(each, "__origin__", None) or each for each in kinds}
    return plain | ({int} if float in plain else set())


def test_the_types_of_one_instance_and_of_a_ranking_are_keys_of_the_answers(scout):
    instance = scout.instance(*H100.split("/"))
    assert set(answers.Instance.__annotations__) <= set(instance)
    assert {frozenset(fact) for fact in instance["facts"]} == {
        frozenset(answers.Known.__annotations__)
    }
    ranking = scout.rank("llama3-8b-pretrain", 64, where={"gpu": "h100-sxm5-80gb"})
    assert set(answers.Ranking.__annotations__) <= set(ranking)
    assert set(answers.Ranked.__annotations__) <= set(ranking["results"][0])


# --- One type, several, a workload, a month ---------------------------------------------------


def test_a_ranking_takes_the_filters_of_offers(scout):
    ranking = scout.rank("llama3-70b-pretrain", 64, where={"nvlink": True, "infiniband": True})
    assert [each["rank"] for each in ranking["results"]] == [*range(1, len(ranking["results"]) + 1)]
    assert {each["offer"]["fabric"] for each in ranking["results"]} == {"infiniband"}


def test_a_comparison_has_each_value_with_its_source_and_leaves_an_unknown_open(scout):
    picks = [H100, "lambda/gpu_8x_h100_sxm5"]
    found = scout.compare(picks, "llama3-70b-pretrain", 64)
    lines = {line["attribute"]: line["cells"] for line in found["lines"]}
    assert [cell["value"] for cell in lines["fabric"]] == ["infiniband", None]
    assert all(cell["source"] and cell["checked"] for cell in lines["scale_up"])
    ranking = scout.rank("llama3-70b-pretrain", 64, where={"provider": "azure"})
    (azure,) = (
        each
        for each in ranking["results"]
        if key(each["offer"])[2] == H100.split("/")[1]
        and each["offer"]["price_model"] == "on_demand"
    )
    assert lines["usd_per_mtoken"][0]["value"] == azure["usd_per_mtoken"]


def test_what_is_said_of_one_type_alone_is_unknown_of_the_others():
    def kind(name: str, **known: object) -> Any:
        facts = [
            {"attribute": each, "unit": "", "value": value, "basis": "measured", "source": "s",
             "checked": "2026-11-01", "note": "", "claims": []}
            for each, value in known.items()
        ]  # fmt: skip
        return {"provider": "acme", "instance_type": name, "facts": facts, "prices": []}

    types = {"a": kind("a", gpu="x", measured=1.5), "b": kind("b", gpu="y", other=None)}
    found = comparing.compare(lambda _provider, name: types[name], None, ["acme/b", "acme/a"])
    lines = {line["attribute"]: [c["value"] for c in line["cells"]] for line in found["lines"]}
    assert lines == {"usd_per_gpu_hour": [None, None], "gpu": ["y", "x"], "measured": [None, 1.5]}


def test_what_is_said_of_parts_alone_is_counted():
    claims = [{"value": 40.0 * size, "scope": f"{size} GB"} for size in range(1, 6)]
    known = {"unit": "", "basis": "measured", "source": "s", "checked": "2026-11-01", "note": ""}
    facts = {
        "a": [{"attribute": "measured", "value": None, "claims": claims, **known}],
        "b": [{"attribute": "measured", "value": 1.5, "claims": claims[:1], **known}],
    }
    types = {
        name: {"provider": "acme", "instance_type": name, "facts": each, "prices": []}
        for name, each in facts.items()
    }
    for picks, counts in ((["acme/a"], [5]), (["acme/b", "acme/a"], [0, 5])):
        found: Any = comparing.compare(lambda _provider, name: types[name], None, picks)
        (line,) = (each for each in found["lines"] if each["attribute"] == "measured")
        assert [cell["claims"] for cell in line["cells"]] == counts


def test_a_rise_of_ten_percent_is_not_of_more():
    """As floats 3.63 over 3.3 is 1.1 and a little."""

    def offers(as_of, **_asked):
        usd = "3.3" if as_of == "then" else "3.63"
        return [dict.fromkeys(SHOWN, "x") | {"usd_per_gpu_hour": usd}]

    (change,) = changes(offers, "then")
    assert (risen(change), change["rise"]) == (Decimal("0.1"), 0.1)
    against = held(offers, "then")
    assert (against.changes, against.compared, against.largest_rise) == (
        [change],
        1,
        Decimal("0.1"),
    )


@pytest.mark.parametrize(
    ("was", "now", "compared", "largest"),
    [
        ("3.3", "3.3", 1, Decimal(0)),  # none rose, and that is known
        ("3.3", "3", 1, Decimal(0)),
        ("3.3", None, 0, None),  # no longer published
        (None, "3.3", 0, None),
        ("0", "3.3", 0, None),  # what was free has no share to rise by
    ],
)
def test_none_that_rose_is_not_nothing_that_was_compared(was, now, compared, largest):
    def offers(as_of, **_asked):
        usd = was if as_of == "then" else now
        return [dict.fromkeys(SHOWN, "x") | {"usd_per_gpu_hour": usd}]

    against = held(offers, "then")
    assert (against.compared, against.largest_rise) == (compared, largest)


def test_changes_are_what_two_moments_differ_in(scout):
    month_ago = date.today() - timedelta(days=30)  # noqa: DTZ011 -- a day is enough
    found = scout.changes(month_ago, provider="lambda", price_model="on_demand")
    (moved,) = (each for each in found if each["what"] == "price")
    assert moved["instance_type"] == "gpu_8x_h100_sxm5"
    assert moved["rise"] == pytest.approx(0.15, abs=0.001)
    assert found[0] == moved  # the steepest first
    gone = [each for each in found if each["what"] == "gone"]
    assert gone
    assert {each["now_usd_per_gpu_hour"] for each in gone} == {None}  # not offered is never $0
    assert scout.changes(month_ago, month_ago, provider="lambda") == []


# --- What goes wrong --------------------------------------------------------------------------


def test_a_wrong_parameter_is_named_with_what_it_may_be(scout):
    with pytest.raises(BadInput) as refused:
        scout.offers(gpu="h100", nvlnk=True)
    assert set(refused.value.fields) == {"gpu", "nvlnk"}
    assert "h100-sxm5-80gb" in refused.value.fields["gpu"][0]
    assert refused.value.code == "bad_query"


def test_a_type_that_never_was_is_not_found(scout):
    with pytest.raises(NotFound, match="nowhere/nothing"):
        scout.instance("nowhere", "nothing")


def test_a_token_that_is_none_is_not_allowed(service):
    with FabricScout(service, token="fs_" + 64 * "0") as scout, pytest.raises(NotAllowed):
        scout.offers()


def test_a_port_on_which_nobody_listens_is_unreachable():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        where = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with FabricScout(where) as scout, pytest.raises(Unreachable, match=where):
            scout.offers()


def test_an_address_that_is_none_is_unreachable():
    for where in ("nonsense", "http://[", "ftp://127.0.0.1"):
        with FabricScout(where) as scout, pytest.raises(Unreachable):
            scout.offers()


# --- How it asks ------------------------------------------------------------------------------


def test_what_has_not_changed_is_asked_by_its_tag_and_answered_from_memory(scout):
    statuses: list[int] = []
    scout.connection._http.event_hooks["response"].append(
        lambda answer: statuses.append(answer.status_code)
    )
    first, second = ([*scout.offers(provider="azure")] for _ in range(2))
    assert first == second
    half = len(statuses) // 2
    assert statuses == half * [200] + half * [304]


def test_a_limit_that_lasts_longer_than_patience_is_an_error(environment):
    with (
        serving(environment | {"API_PER_MINUTE_ANONYMOUS": "0"}) as address,
        FabricScout(address, patience_s=0) as scout,
        pytest.raises(TooManyRequests) as refused,
    ):
        scout.offers()
    assert refused.value.status == 429


@pytest.fixture
def later() -> Iterator[tuple[str, list[str | None]]]:
    """A server that says "in a second" once, then answers; and the keys that it was shown.

    The service's own window is a minute, which no test waits for.
    """
    keys: list[str | None] = []

    class Later(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            keys.append(self.headers["Idempotency-Key"])
            self.send_response(200 if len(keys) > 1 else 429)
            self.send_header("Retry-After", "1")
            self.end_headers()
            self.wfile.write(b'{"results": []}')

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Later) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", keys
        server.shutdown()


def test_a_short_wait_is_waited_out_under_the_same_key(later):
    address, keys = later
    with FabricScout(address) as scout:
        assert scout.rank("llama3-8b-pretrain", 8) == {"results": []}
        scout.rank("llama3-8b-pretrain", 8)
    first, again, other = keys
    assert first == again != other


def test_what_is_no_fabricscout_is_said_to_be_none(later):
    with FabricScout(later[0]) as scout, pytest.raises(Unreachable, match="no FabricScout"):
        scout.offers()


def test_every_error_is_one_kind():
    assert issubclass(BadInput, ApiError)
    assert {ApiError, Unreachable} == {*ApiError.__mro__[1].__subclasses__()}
