"""A mailed link proves who reads the mail: it sets a password, or confirms an address."""

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client

from accounts.access import mail_address
from accounts.models import Scope, Token
from tests.accounts.people import person, somewhere

pytestmark = pytest.mark.django_db(transaction=True)  # mail leaves in a thread of its own
RESET = "/account/password/reset/"
NEW = "staple battery horse"
Mailed = Callable[[], EmailMessage]


def link(message: EmailMessage) -> str:
    """The path that a mail leads to."""
    found = re.search(r"^http://127\.0\.0\.1:8000(/\S+)$", str(message.body), re.MULTILINE)
    assert found
    return found[1]


def set_password(who: Client, there: str) -> int:
    """What the form behind the link answers."""
    form = who.get(there)
    if form.status_code != 302:
        return form.status_code
    return who.post(form["Location"], {"new_password1": NEW, "new_password2": NEW}).status_code


def test_a_mailed_link_sets_a_new_password_once(ada: User, visitor: Client, mailed: Mailed) -> None:
    elsewhere = Client()
    elsewhere.force_login(ada)
    assert visitor.post(RESET, {"email": ada.email.upper()})["Location"] == "/account/sign-in/"
    there = link(mailed())
    assert set_password(visitor, there) == 302
    ada.refresh_from_db()
    assert ada.check_password(NEW)
    assert elsewhere.get("/account/").status_code == 302
    again = visitor.get(there)
    assert (again.status_code, "used before" in again.content.decode()) == (200, True)


def test_nobody_learns_who_has_an_account(ada: User, mailed: Mailed) -> None:
    def said(email: str) -> str:
        answer = Client(REMOTE_ADDR=somewhere()).post(RESET, {"email": email}, follow=True)
        return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", answer.content.decode())

    assert said(f"no{ada.email}") == said(ada.email)
    assert mailed().to == [ada.email]
    assert mail.outbox == []


def test_the_link_leads_here_whatever_host_the_request_names(
    ada: User, visitor: Client, mailed: Mailed, settings: object
) -> None:
    settings.ALLOWED_HOSTS = ["*"]  # type: ignore[attr-defined]
    visitor.post(RESET, {"email": ada.email}, headers={"Host": "evil.example"})
    assert "evil" not in str(mailed().body)


def test_a_mailbox_is_not_filled_by_us(ada: User, mailed: Mailed) -> None:
    for _ in range(8):
        Client(REMOTE_ADDR=somewhere()).post(RESET, {"email": ada.email})
    assert [mailed().to for _ in range(5)] == [[ada.email]] * 5
    time.sleep(0.5)
    assert mail.outbox == []


def test_it_speaks_the_language_of_who_asked(ada: User, visitor: Client, mailed: Mailed) -> None:
    visitor.cookies["django_language"] = "ja"
    visitor.post(RESET, {"email": ada.email})
    assert "パスワード" in mailed().subject


def test_tokens_of_who_could_not_read_the_mail_end_with_its_reset(
    ada: User, visitor: Client, mailed: Mailed
) -> None:
    """Someone signed up with another's address; its owner takes the account over."""
    Token.objects.issue(ada, "planted", Scope.WRITE)
    for alive in (0, 1):
        visitor.post(RESET, {"email": ada.email})
        assert set_password(visitor, link(mailed())) == 302
        assert Token.objects.alive().count() == alive
        Token.objects.issue(ada, "of the owner, who stays", Scope.WRITE)


# --- An address -------------------------------------------------------------------------------


def test_mail_goes_to_an_address_that_was_confirmed_by_hand(
    ada: User, signed_in: Client, mailed: Mailed
) -> None:
    signed_in.post("/account/confirm/")
    there = link(mailed())
    signed_in.get(there)  # as a mail scanner does
    assert mail_address(ada) is None
    signed_in.post(there)
    assert mail_address(ada) == ada.email
    assert ada.email in signed_in.get("/account/").content.decode()


def test_the_link_of_another_confirms_nothing(ada: User, signed_in: Client, mailed: Mailed) -> None:
    signed_in.post("/account/confirm/")
    there = link(mailed())
    eve = person("eve@example.org")
    other = Client()
    other.force_login(eve)
    assert [other.post(there).status_code, other.post(there[:-3] + "/").status_code] == [404, 404]
    assert (mail_address(eve), mail_address(ada)) == (None, None)


def test_without_a_mail_server_the_page_says_where_the_mail_is(
    ada: User, visitor: Client, settings: Any, tmp_path: Path
) -> None:
    settings.EMAIL_BACKEND = "accounts.mail_files.EmailBackend"
    settings.EMAIL_FILE_PATH = tmp_path
    page = visitor.post(RESET, {"email": ada.email}, follow=True).content.decode()
    assert "the mail is a file in the folder “mail”" in page
    until = time.monotonic() + 10
    while not list(tmp_path.iterdir()) and time.monotonic() < until:
        time.sleep(0.01)
    assert ada.email in next(tmp_path.iterdir()).read_text()
