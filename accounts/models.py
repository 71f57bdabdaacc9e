"""Tokens, by which a script says whose it is. Who a person is stands in Django's own `auth.User`.

A person signs in with an e-mail address, which is the user's `username` in lower case, so that
Django's own back-end, reset mails and admin need no change. The database keeps addresses apart.
"""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models
from django.db.models.functions import Now
from django.utils.translation import gettext_lazy as _

SCHEME = "fs_"
SECRET_BYTES = 24  # 192 random bits; of the 32 that are shown, none is needed
SHOWN = len(SCHEME) + 8
USE_IS_NOTED = timedelta(minutes=1)  # a write per request would cost more than it tells


class Scope(models.TextChoices):
    """What a token may do for its user."""

    READ = "read", _("read")
    WRITE = "write", _("read and write")


class TokenQuerySet(models.QuerySet["Token"]):
    """Tokens, by what may be done with them."""

    def issue(self, user: User, name: str, scope: Scope) -> tuple["Token", str]:
        """A new token and its secret, which is nowhere kept and never seen again."""
        secret = SCHEME + secrets.token_hex(SECRET_BYTES)
        token = self.create(
            user=user, name=name, scope=scope, digest=digest(secret), prefix=secret[:SHOWN]
        )
        return token, secret

    def alive(self) -> "TokenQuerySet":
        """Those not revoked."""
        return self.filter(revoked_at=None)

    def of(self, secret: str) -> "Token | None":
        """The live token with that secret, whose user may still sign in."""
        of_active = self.alive().filter(digest=digest(secret), user__is_active=True)
        return of_active.select_related("user").first()

    def revoke(self) -> int:
        """End them, now; how many were alive."""
        return self.alive().update(revoked_at=Now())


class Token(models.Model):
    """A secret that stands for its user, within its scope, until it is revoked."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="tokens")
    name = models.CharField(_("name"), max_length=80)
    scope = models.CharField(_("scope"), max_length=5, choices=Scope.choices, default=Scope.READ)
    digest = models.CharField(max_length=64, unique=True, editable=False)
    prefix = models.CharField(max_length=SHOWN, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    objects = TokenQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.CheckConstraint(
                condition=models.Q(scope__in=Scope.values), name="token_scope_is_known"
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def note_use(self) -> None:
        """Remember that it was used, to the minute."""
        since = models.Q(last_used_at=None) | models.Q(last_used_at__lt=Now() - USE_IS_NOTED)
        Token.objects.filter(since, pk=self.pk).update(last_used_at=Now())


class ConfirmedAddress(models.Model):
    """Its user opened the link that was mailed to their address: mail reaches them, and is wanted.

    Whoever signs up may write any address, so nothing but that link goes to one without this.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="confirmed_address"
    )
    confirmed_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.user)


class KeptAnswer(models.Model):
    """What a request with an `Idempotency-Key` was answered, for whoever sends it again."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="+")
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64)  # of the door and the body
    status = models.PositiveSmallIntegerField(null=True)  # null while it is being done
    headers = models.JSONField(default=dict)
    body = models.BinaryField(default=bytes)
    created_at = models.DateTimeField(db_default=Now(), db_index=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("user", "key"), name="one_answer_for_a_key"),
        )

    def __str__(self) -> str:
        return self.key


def digest(secret: str) -> str:
    """What is kept of a secret: SHA-256 in hex. Its 192 bits are random, so no slow hash helps."""
    return hashlib.sha256(secret.encode()).hexdigest()
