"""The pages of words follow the catalog: nothing on them is typed in."""

import pytest
from django.test import Client
from django.urls import reverse

from learn.words import words
from tests.catalog.conftest import facts, offer, scrape
from tests.learn.conftest import forget, page


@pytest.mark.django_db
def test_the_pages_change_with_the_catalog(client: Client) -> None:
    forget()
    linked = facts("acme/one", scale_up="nvswitch")
    scrape([offer("one", facts=linked)])
    before = page(client, "nvlink")
    assert ">1</a> <small></small></dd>" in before
    more = [offer(f"n{n}", facts=facts(f"acme/n{n}", scale_up="nvswitch")) for n in range(2)]
    scrape([offer("one", facts=linked), *more], days=1)
    after = page(client, "nvlink")
    assert ">3</a> <small></small></dd>" in after
    assert "All 3 offers" in after


@pytest.mark.django_db
def test_an_empty_catalog_is_said_and_breaks_no_page(client: Client) -> None:
    forget()
    for slug in ("", *words()):
        for language in ("en", "ja"):
            page(client, slug, language)
    assert "No offer of the catalog shows it today" in page(client, "infiniband")


@pytest.mark.django_db
def test_what_is_no_word_is_the_catalogs_or_nothing(client: Client) -> None:
    assert client.get("/learn/values/").status_code == 200
    assert client.get("/learn/accuracy/").status_code == 200
    assert client.get("/learn/blockchain/").status_code == 404
    assert f'href="{reverse("values")}"' in page(client)
    assert f'href="{reverse("accuracy")}"' in page(client)
