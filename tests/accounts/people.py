"""What everyone's password is, and where they are: no test uses up the tries of another."""

import random
from functools import cache

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User

PASSWORD = "correct horse battery"

hashed = cache(make_password)  # which takes a third of a second, by design


def person(email: str, password: str = PASSWORD) -> User:
    """Someone who can sign in with it. The hash is a real one, but made once for all tests."""
    return User.objects.create(username=email, email=email, password=hashed(password))


def somewhere() -> str:
    """An address of nobody else."""
    return f"2001:db8:{random.getrandbits(16):x}:{random.getrandbits(16):x}::1"
