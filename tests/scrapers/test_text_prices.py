"""A pasted listing's price: of an hour, of an instance or a GPU, in its own currency."""

import pytest
from text_lines import one, read


@pytest.mark.parametrize(
    ("words", "hour", "gpu_hour"),
    [
        ("$19.92/h", "19.92", "2.49"),
        ("USD 1,019.92 per hour", "1019.92", "127.49"),
        ("$2.49/GPU/hr", "19.92", "2.49"),
        ("$2.49 per GPU per hour", "19.92", "2.49"),
        ("$2.49/hr/GPU", "19.92", "2.49"),
        ("$2.49/GPU/hr, spot $1.20/GPU/hr", "19.92", "2.49"),
        # none of its own, or not of an hour
        ("$19.92", None, None),
        ("from $1.99/hr", None, None),
        ("$2.49 - $3.49 per GPU hour", None, None),
        ("$1.99/hr | $2.49/hr", None, None),
        ("reserved 1 year: $1.80/GPU/hr", None, None),
        ("$14,541.60/month", None, None),
        ("$0.00/hr", None, None),
        ("50 Gbps", None, None),
    ],
)
def test_dollars_an_hour(words, hour, gpu_hour):
    line = one(f"8x H100 SXM | {words}")
    assert (line["usd_per_hour"], line["usd_per_gpu_hour"]) == (hour, gpu_hour)


@pytest.mark.parametrize(
    ("words", "amount", "currency"),
    [("19,92 €/Std.", "19.92", "EUR"), ("£15.20/hour", "15.2", "GBP"), ("ab 2,50 €/h", None, None)],
)
def test_another_currency_is_kept_and_not_guessed_into_dollars(words, amount, currency):
    said = {"native_amount": amount, "native_currency": currency, "usd_per_hour": None}
    assert read(f"8x H100 SXM | {words}", said) == said


def test_a_price_of_one_gpu_needs_their_number():
    line = one("H100 SXM | $2.49/GPU/hr")
    assert line["usd_per_hour"] is None
    assert any("how many is not said" in why for why in line["why"])
