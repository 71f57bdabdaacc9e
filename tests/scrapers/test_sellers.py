"""One provider under two names is one."""

import pytest

from scrapers.sellers import seller


@pytest.mark.parametrize(
    ("word", "slug"),
    [
        ("lambdalabs", "lambda"),
        ("Lambda Labs", "lambda"),
        ("datacrunch", "verda"),
        ("Hot Aisle", "hotaisle"),
        ("massed_compute", "massedcompute"),
        ("runpod", "runpod"),
        ("oracle", "oci"),
        ("cudocompute", "cudo"),
        ("do", "digitalocean"),
        ("crusoecloud", "crusoe"),
        ("Akamai", "linode"),
    ],
)
def test_an_aggregators_word_is_our_slug(word, slug):
    assert seller(word) == slug
