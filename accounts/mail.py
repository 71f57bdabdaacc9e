"""Mail to the owner of an account: a link that sets a new password, one that confirms an address.

It leaves in a thread of its own. The page answers as soon, and the same, whether or not the account
exists and however slow the mail server is; what a stopped process did not send, its reader asks for
again.
"""

import email
import logging
import threading
from collections.abc import Callable
from email.utils import getaddresses
from smtplib import SMTPException
from typing import ParamSpec
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.forms import PasswordResetForm
from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import send_mail
from django.db import connection
from django.template.loader import render_to_string
from django.utils.translation import get_language, gettext, override

P = ParamSpec("P")
log = logging.getLogger(__name__)
SALT = "accounts.confirm"
CONFIRM_WITHIN_S = 3 * 86_400


def later(send: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
    """Send it in the reader's language, but do not let the reader wait."""
    language = get_language()

    def run() -> None:
        try:
            with override(language):
                send(*args, **kwargs)
        finally:
            connection.close()  # this thread's own

    threading.Thread(target=run, name=f"mail {send.__name__}", daemon=True).start()


def where() -> str:
    """For a page that sent something: where it is found when there is no mail server."""
    if "mail_files" not in settings.EMAIL_BACKEND:
        return ""
    return gettext(
        "This service has no mail server (EMAIL_URL): the mail is a file in the folder “mail” of "
        "its FABRICSCOUT_HOME."
    )


def reset(address: str) -> None:
    """A link that sets a new password, if that is the address of an account."""
    form = PasswordResetForm({"email": address})
    if form.is_valid():
        form.save(
            domain_override=urlsplit(settings.PUBLIC_URL).netloc,
            subject_template_name="accounts/mail/reset_subject.txt",
            email_template_name="accounts/mail/reset.txt",
            extra_email_context={"root": settings.PUBLIC_URL},
        )


def confirm(user: User) -> None:
    """A link by which its reader shows that mail to this address reaches them."""
    context = {
        "root": settings.PUBLIC_URL,
        "email": user.email,
        "proof": signing.dumps([user.pk, user.email], salt=SALT),
    }
    try:
        send_mail(
            gettext("Your address at FabricScout"),
            render_to_string("accounts/mail/confirm.txt", context),
            None,
            [user.email],
        )
    except (OSError, SMTPException):
        log.exception("The mail to user %s could not be sent", user.pk)


def forget(address: str) -> None:
    """Delete the mails to whoever is gone, where each is a file of ours."""
    if not where():
        return
    for file in settings.EMAIL_FILE_PATH.glob("*.log"):
        to = email.message_from_bytes(file.read_bytes()).get_all("To", [])
        if address in [each for _name, each in getaddresses(to)]:
            file.unlink(missing_ok=True)


def confirms(proof: str, user: User) -> bool:
    """Whether the link was mailed to this user, at the address that they still have."""
    try:
        said = signing.loads(proof, salt=SALT, max_age=CONFIRM_WITHIN_S)
    except signing.BadSignature:
        return False
    return bool(said == [user.pk, user.email])
