"""Why offers are not ranked: by kind, each type once, as the ranking page lists them."""

import pytest

from catalog.left_out import by_kind, kind_of


def without(reason: str, name: str = "a") -> dict[str, object]:
    return {"offer": {"provider": "one", "instance_type": name}, "reason": reason}


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("costs $2,391,763 on 1280 GPUs, not $2,000,000", "Over the budget"),
        ("takes 900 h on 8 GPUs, not 720; costs $9 on 8 GPUs, not $8", "Takes too long"),
        ("weights 252 GB = 252 GB per GPU exceeds the 85 GB of x (the least)", "Too little memory"),
        ("nobody says which GPU it has: one of a, b", "Too little is known"),
        ("several of it cannot be had on one fabric", "No fabric joins so many"),
        ("64 GPUs need 8 nodes, and no fabric joins them", "No fabric joins so many"),
        ("its price is for 64 GPUs at least", "Not sold in this size"),
        ("a new reason", "For another reason"),
    ],
)
def test_a_reason_has_a_kind_whatever_its_figures(reason: str, kind: str) -> None:
    assert kind_of(reason) == kind


def test_offers_are_counted_and_a_type_is_listed_once() -> None:
    found = by_kind(
        [
            without("nobody says which GPU it has"),
            without("costs $3 on 8 GPUs, not $2"),
            without("costs $4 on 8 GPUs, not $2"),
            without("costs $5 on 8 GPUs, not $2", "b"),
        ]
    )
    assert [(kind["title"], kind["offers"]) for kind in found] == [
        ("Over the budget", 3),
        ("Too little is known", 1),
    ]
    assert [why for _offer, why in found[0]["types"]] == [
        "costs $3 on 8 GPUs, not $2",
        "costs $5 on 8 GPUs, not $2",
    ]
