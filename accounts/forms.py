"""What people fill in. An e-mail address is the name of an account, in lower case."""

from typing import Any

from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.forms import AuthenticationForm, SetPasswordMixin
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.limits import Standing
from accounts.models import Scope, Token

LONGEST_ADDRESS = 150  # what Django's username holds
MOST_TOKENS = 20  # alive, of one user


class Address(forms.EmailField):
    """An e-mail address, in lower case: the name of an account."""

    widget = forms.EmailInput({"autocomplete": "username", "size": 32})

    def to_python(self, value: str | None) -> str | None:
        """What the account is named by."""
        return (super().to_python(value) or "").lower()


def address() -> Address:
    """The field of it."""
    return Address(label=_("E-mail address"), max_length=LONGEST_ADDRESS)


class SignIn(AuthenticationForm):
    """Address and password of an account."""

    username = address()
    error_messages = {  # noqa: RUF012 -- Django's
        "invalid_login": _("No account has this e-mail address and this password."),
        "inactive": _("No account has this e-mail address and this password."),
    }

    def get_invalid_login_error(self) -> ValidationError:
        """Wrong, or asked too often."""
        guesses = getattr(self.request, "guesses", None)
        return too_often(guesses) if guesses else super().get_invalid_login_error()


class SignUp(SetPasswordMixin, forms.Form):  # type: ignore[type-arg]
    """A new account. One that exists is said to: whoever signs up is let in at once."""

    email = address()
    password1, password2 = SetPasswordMixin.create_password_fields()

    def clean_email(self) -> str:
        """An address that no account has."""
        email = str(self.cleaned_data["email"])
        taken = User.objects.filter(email__iexact=email) | User.objects.filter(username=email)
        if taken.exists():
            raise ValidationError(TAKEN)
        return email

    def clean(self) -> dict[str, Any] | None:
        """Both passwords, the same, and hard to guess."""
        self.validate_passwords()
        email = self.cleaned_data.get("email", "")
        self.validate_password_for_user(User(username=email, email=email))
        return super().clean()

    def save(self) -> User | None:
        """The user; None where someone else was first, which the form then says."""
        email = self.cleaned_data["email"]
        try:
            with transaction.atomic():
                return User.objects.create_user(email, email, self.cleaned_data["password1"])
        except IntegrityError:
            self.add_error("email", TAKEN)
            return None


class Reset(forms.Form):
    """Whose password is to be set anew."""

    email = address()


class Nothing(forms.Form):
    """A button alone."""


class NewToken(forms.Form):
    """A token's name and what it may do."""

    name = forms.CharField(
        label=_("Name"),
        max_length=80,
        widget=forms.TextInput({"size": 24, "placeholder": _("where it is used")}),
    )
    scope = forms.ChoiceField(label=_("Scope"), choices=Scope.choices)

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        """For that user."""
        super().__init__(*args, **kwargs)
        self.user = user

    def clean(self) -> dict[str, Any] | None:
        """Not one too many."""
        if Token.objects.filter(user=self.user).alive().count() >= MOST_TOKENS:
            raise ValidationError(
                _("An account has %(most)d tokens at most: revoke one first."),
                params={"most": MOST_TOKENS},
            )
        return super().clean()

    def issue(self) -> tuple[Token, str]:
        """The token and its secret."""
        given = self.cleaned_data
        return Token.objects.issue(self.user, given["name"], Scope(given["scope"]))


class Delete(forms.Form):
    """The password once more, before everything goes."""

    password = forms.CharField(
        label=_("Password"),
        strip=False,
        widget=forms.PasswordInput({"autocomplete": "current-password", "size": 32}),
    )

    def __init__(self, request: HttpRequest, *args: Any, **kwargs: Any) -> None:
        """For whoever asks."""
        super().__init__(*args, **kwargs)
        self.request, self.user = request, request.user

    def clean_password(self) -> None:
        """It is the right one, and was not guessed at."""
        name = self.user.get_username()
        given = self.cleaned_data["password"]
        if authenticate(self.request, username=name, password=given) is None:
            guesses = getattr(self.request, "guesses", None)
            raise too_often(guesses) if guesses else ValidationError(_("That is not the password."))


TAKEN = _("There is an account with this e-mail address: sign in, or set a new password.")


def too_often(guesses: Standing) -> ValidationError:
    """When to come again."""
    minutes = -(-guesses.resets_in_s // 60)
    text = ngettext(
        "That was tried too often. Come again in %(n)d minute.",
        "That was tried too often. Come again in %(n)d minutes.",
        minutes,
    )
    return ValidationError(text % {"n": minutes})
