"""A page of a word, and a clean memory: the catalogs of tests repeat each other's version."""

from django.test import Client

from learn import figures, model


def forget() -> None:
    """Catalogs of tests repeat each other's version."""
    figures._counted.cache_clear()
    model._estimated.cache_clear()


def page(client: Client, slug: str = "", language: str = "en") -> str:
    answer = client.get(
        f"/learn/{slug}{'/' if slug else ''}", headers={"accept-language": language}
    )
    assert answer.status_code == 200, slug
    return answer.content.decode()
