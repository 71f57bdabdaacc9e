"""Who comes to the pages."""

import random
import time
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.mail import EmailMessage
from django.test import Client

from tests.accounts.people import person, somewhere


@pytest.fixture
def email() -> str:
    """An address that no other test has tried a password for."""
    return f"ada{random.getrandbits(64):x}@example.org"


@pytest.fixture
def visitor() -> Client:
    """Nobody yet."""
    return Client(REMOTE_ADDR=somewhere())


@pytest.fixture
def ada(db: None, email: str) -> User:
    return person(email)


@pytest.fixture
def signed_in(ada: User, visitor: Client) -> Client:
    """Ada's browser."""
    visitor.force_login(ada)
    return visitor


@pytest.fixture
def mailed() -> Callable[[], EmailMessage]:
    """The next mail, which a thread sends."""

    def wait() -> EmailMessage:
        until = time.monotonic() + 10
        while not mail.outbox and time.monotonic() < until:
            time.sleep(0.01)
        return mail.outbox.pop(0)

    return wait
