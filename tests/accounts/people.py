"""What everyone's password is, and where they are: no test uses up the tries of another."""

import random

PASSWORD = "correct horse battery"


def somewhere() -> str:
    """An address of nobody else."""
    return f"2001:db8:{random.getrandbits(16):x}:{random.getrandbits(16):x}::1"
