"""The pages of an account: Django's own views, in our frame; what they show is for no cache.

Every form is one template. Whoever is not signed in is sent to sign in, and comes back.
"""

from typing import Any

from django.contrib import messages
from django.contrib.auth import login, logout, views
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import backend, forms, limits, mail, owned
from accounts.access import SignedInRequest, mail_address
from accounts.models import ConfirmedAddress, Token, digest

FORM = "accounts/form.html"
SIGN_UPS = limits.Limit("sign-up", 60, 3600)  # of an address
RESETS = limits.Limit("reset-address", 20, 3600)
MAILS = limits.Limit("mail-to", 5, 3600)  # to a mailbox, whoever asks
form_or_post = require_http_methods(["GET", "HEAD", "POST"])


def refused(response: HttpResponse, standing: limits.Standing) -> HttpResponse:
    """The page as a 429."""
    response.status_code = 429
    response["Retry-After"] = str(standing.resets_in_s)
    return response


def may_mail(address: str) -> bool:
    """Whether another mail may go there this hour: nobody's mailbox is filled through us."""
    return not limits.take(MAILS, digest(address.lower())).is_over


# --- In and out -------------------------------------------------------------------------------


class SignIn(views.LoginView):
    """Address and password; then where one was going, if that is a page of ours."""

    template_name = FORM
    authentication_form = forms.SignIn
    redirect_authenticated_user = True
    extra_context = {  # noqa: RUF012 -- Django's
        "title": _("Sign in"),
        "button": _("Sign in"),
        "links": (
            ("sign-up", _("Create an account")),
            ("password-reset", _("Set a new password")),
        ),
        "open": True,
    }

    def form_invalid(self, form: Any) -> HttpResponse:
        """Wrong, or asked too often."""
        response = super().form_invalid(form)
        guesses = getattr(self.request, "guesses", None)
        return refused(response, guesses) if guesses else response


@never_cache
@sensitive_post_parameters("password1", "password2")
@form_or_post
def sign_up(request: HttpRequest) -> HttpResponse:
    """A new account, signed in at once; a link that confirms its address goes there."""
    form = forms.SignUp(request.POST or None)
    context = {
        "form": form,
        "title": _("Create an account"),
        "lead": _("It keeps your comparisons and watches, and gives your scripts tokens."),
        "button": _("Create it"),
        "links": (("sign-in", _("Sign in to an account that you have")),),
        "open": True,
    }
    if request.method == "POST":
        tried = limits.take(SIGN_UPS, limits.address_of(request))
        if tried.is_over:
            form.add_error(None, forms.too_often(tried))
            return refused(render(request, FORM, context), tried)
        if form.is_valid() and (user := form.save()):
            login(request, user, f"{backend.Passwords.__module__}.{backend.Passwords.__name__}")
            ask_to_confirm(request, user)
            return redirect("account")
    return render(request, FORM, context)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """The session ends; its cookie opens nothing any more."""
    logout(request)
    return redirect("sign-in")


# --- The address ------------------------------------------------------------------------------


def ask_to_confirm(request: HttpRequest, user: User) -> None:
    """Mail the link, and say so."""
    if may_mail(user.email):
        mail.later(mail.confirm, user)
    sent = gettext("A link went to %(address)s. Open it to get mail from watches there.")
    messages.info(request, f"{sent % {'address': user.email}} {mail.where()}".strip())


@require_POST
@login_required
def send_confirmation(request: SignedInRequest) -> HttpResponse:
    """The link once more."""
    ask_to_confirm(request, request.user)
    return redirect("account")


@never_cache
@login_required
@form_or_post
def confirm(request: SignedInRequest, proof: str) -> HttpResponse:
    """What the mailed link opens. A person presses the button: a mail scanner does not."""
    if not mail.confirms(proof, request.user):
        raise Http404
    if request.method == "POST":
        ConfirmedAddress.objects.get_or_create(user=request.user)
        messages.success(request, gettext("The address is confirmed."))
        return redirect("account")
    context = {"title": _("Confirm your address"), "lead": request.user.email}
    return render(request, FORM, context | {"form": forms.Nothing(), "button": _("It is mine")})


# --- The password -----------------------------------------------------------------------------


@never_cache
@form_or_post
def password_reset(request: HttpRequest) -> HttpResponse:
    """A mailed link that sets a new password. The answer does not tell who has an account."""
    form = forms.Reset(request.POST or None)
    context = {
        "form": form,
        "title": _("Set a new password"),
        "lead": _("A link goes to the address of your account. It works for a day, once."),
        "button": _("Send the link"),
        "links": (("sign-in", _("Sign in")),),
    }
    if request.method == "POST":
        tried = limits.take(RESETS, limits.address_of(request))
        if tried.is_over:
            form.add_error(None, forms.too_often(tried))
            return refused(render(request, FORM, context), tried)
        if form.is_valid():
            address = form.cleaned_data["email"]
            if may_mail(address):
                mail.later(mail.reset, address)
            said = gettext("If an account has this address, a link is on its way there.")
            messages.info(request, f"{said} {mail.where()}".strip())
            return redirect("sign-in")
    return render(request, FORM, context)


class SetPassword(views.PasswordResetConfirmView):
    """What the mailed link opens: a new password, for all sessions.

    It shows that the mail was read, too. Tokens made before that may be another's, who signed up
    with this address and could not read its mail: they end.
    """

    template_name = FORM
    title = _("Set a new password")
    success_url = reverse_lazy("sign-in")
    extra_context = {  # noqa: RUF012 -- Django's
        "button": _("Set it"),
        "no_form": _("This link was used before, or is too old."),
        "links": (("password-reset", _("Ask for another link")),),
    }

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        """The new password holds. An account that was deleted meanwhile stays so."""
        owned.held(User.objects.filter(pk=form.user.pk))
        _row, is_new = ConfirmedAddress.objects.get_or_create(user=self.user)
        if is_new:
            Token.objects.filter(user=self.user).revoke()
        messages.success(self.request, gettext("The new password holds. Sign in with it."))
        return super().form_valid(form)


@method_decorator(never_cache, name="dispatch")
class ChangePassword(views.PasswordChangeView):
    """A new password for whoever knows the old one; all other sessions end."""

    template_name = FORM
    title = _("Change the password")
    success_url = reverse_lazy("account")
    extra_context = {  # noqa: RUF012 -- Django's
        "lead": _("All other sessions end. Tokens stay: revoke those that you do not trust."),
        "button": _("Change it"),
        "links": (("account", _("Account")),),
    }

    @transaction.atomic
    def form_valid(self, form: Any) -> HttpResponse:
        """The new password holds. An account that was deleted meanwhile stays so."""
        owned.held(User.objects.filter(pk=form.user.pk))
        messages.success(self.request, gettext("The new password holds. All other sessions ended."))
        return super().form_valid(form)


# --- The account ------------------------------------------------------------------------------


@never_cache
@login_required
@require_safe
def account(request: SignedInRequest) -> HttpResponse:
    """Tokens, mail, looks, password, the end."""
    return shown(request, forms.NewToken(request.user))


def shown(request: SignedInRequest, form: forms.NewToken, **more: object) -> HttpResponse:
    """The page, with the form of a new token as far as it is filled in."""
    user = request.user
    context = {
        "form": form,
        "tokens": Token.objects.filter(user=user).alive(),
        "mails": mail_address(user),
    }
    return render(request, "accounts/account.html", context | {"room": "account"} | more)


@never_cache
@login_required
@require_POST
def new_token(request: SignedInRequest) -> HttpResponse:
    """The page with the secret of a new token, this once: it is kept nowhere, so not in a session.

    That is why this answers itself instead of leading back.
    """
    form = forms.NewToken(request.user, request.POST)
    if not form.is_valid():
        return shown(request, form)
    token, secret = form.issue()
    return shown(request, forms.NewToken(request.user), made=token, secret=secret)


@login_required
@require_POST
def revoke_token(request: SignedInRequest, pk: int) -> HttpResponse:
    """End one of one's own."""
    own = Token.objects.filter(user=request.user, pk=pk)
    token = get_object_or_404(own)
    own.revoke()
    said = gettext("The token “%(name)s” is revoked.")
    messages.success(request, said % {"name": token.name})
    return redirect("account")


@never_cache
@sensitive_post_parameters("password")
@login_required
@form_or_post
def delete(request: SignedInRequest) -> HttpResponse:
    """The account and all that hangs on it, for whoever gives the password once more."""
    if request.user.is_staff:  # decisions in the log name them
        messages.error(request, gettext("An account of staff is deleted in the admin."))
        return redirect("account")
    form = forms.Delete(request, request.POST or None)
    if request.method == "POST" and form.is_valid():
        owned.remove(User.objects.filter(pk=request.user.pk))
        logout(request)
        messages.success(request, gettext("The account and all its data are deleted."))
        return redirect("sign-in")
    context = {
        "form": form,
        "title": _("Delete the account"),
        "lead": _(
            "Comparisons, their runs, notes and links, watches, measurements and tokens go with "
            "it, at once and for good."
        ),
        "button": _("Delete all of it"),
        "links": (("account", _("Keep it")),),
    }
    response = render(request, FORM, context)
    guesses = getattr(request, "guesses", None)
    return refused(response, guesses) if guesses else response
