"""An account is deleted while its owner writes something: it is gone, and so it stays."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from accounts.models import Scope, Token
from measurements.models import Measurement
from tests.accounts.people import PASSWORD
from tests.catalog.conftest import facts, offer, scrape
from tests.catalog.market import INFINIBAND
from tests.meanwhile import meanwhile
from tests.scoring.test_nccl_tests import header, row

pytestmark = pytest.mark.django_db(transaction=True)
RUN = f"all_reduce_perf\n{header(16, 2)}\n{row('all_reduce', 16, 1 << 30, 2600.0)}"


@pytest.fixture
def browser(ada: User, signed_in: Client) -> Client:
    """Ada's, which shows what a visitor of a service that fails would see."""
    signed_in.raise_request_exception = False
    return signed_in


def script(owner: User) -> Any:
    secret = Token.objects.issue(owner, "script", Scope.WRITE)[1]
    headers = {"Authorization": f"Bearer {secret}"}
    return Client(raise_request_exception=False, headers=headers)


def send(client: Client, door: str, body: object, **headers: str) -> Any:
    said = json.dumps(body)
    return client.post(f"/api/v1/{door}/", said, "application/json", headers=headers)


@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}])
@pytest.mark.parametrize("door", ["comparisons", "measurements"])
def test_what_a_script_sends_is_not_kept(ada: User, door: str, headers: dict[str, str]) -> None:
    scrape([offer("ib", facts=facts("acme/ib", **INFINIBAND, gpudirect_rdma="yes"))])
    bodies: dict[str, object] = {
        "comparisons": {"name": "Q1", "picks": ["acme/ib"]},
        "measurements": {"provider": "acme", "instance_type": "ib", "text": RUN, "keep": True},
    }
    client = script(ada)
    answer = meanwhile(ada.delete, lambda: send(client, door, bodies[door], **headers))
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert not User.objects.exists()
    assert not Measurement.objects.exists()


@pytest.mark.parametrize(
    ("path", "form"),
    [
        ("/account/tokens/", {"name": "script", "scope": "read"}),
        (
            "/account/password/",
            {"old_password": PASSWORD, "new_password1": "new" * 9, "new_password2": "new" * 9},
        ),
    ],
)
def test_no_page_brings_it_back(
    ada: User, browser: Client, path: str, form: dict[str, str]
) -> None:
    answer = meanwhile(ada.delete, lambda: browser.post(path, form))
    assert answer.status_code == 404
    assert not User.objects.exists()


def test_it_is_deleted_twice_at_once(ada: User, browser: Client) -> None:
    path, password = "/account/delete/", {"password": PASSWORD}
    answer = meanwhile(ada.delete, lambda: browser.post(path, password))
    assert (answer.status_code, answer["Location"]) == (302, "/account/sign-in/")


def test_a_run_that_is_being_removed_is_gone_for_who_removes_it(ada: User) -> None:
    scrape([offer("ib", facts=facts("acme/ib", **INFINIBAND, gpudirect_rdma="yes"))])
    client = script(ada)
    body = {"provider": "acme", "instance_type": "ib", "text": RUN, "keep": True}
    assert send(client, "measurements", body).status_code == 201
    kept = Measurement.objects.get()
    path = f"/api/v1/measurements/{kept.pk}/"
    assert meanwhile(kept.delete, lambda: client.delete(path)).status_code == 404
