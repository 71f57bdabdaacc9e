"""What is let go: sessions that ended, tokens 90 days after their end, answers after a day."""

from datetime import timedelta

from django.contrib.sessions.models import Session
from django.db.models.functions import Now

from accounts import idempotency
from accounts.models import Token

REVOKED_TOKENS = timedelta(days=90)


def forget() -> tuple[int, int, int]:
    """How many sessions, tokens and answers went."""
    sessions, _ = Session.objects.filter(expire_date__lt=Now()).delete()
    tokens, _ = Token.objects.filter(revoked_at__lt=Now() - REVOKED_TOKENS).delete()
    return sessions, tokens, idempotency.forget()
