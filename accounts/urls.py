"""Addresses of this room's pages."""

from django.urls import path

from accounts import pages, preferences

urlpatterns = [
    path("account/", pages.account, name="account"),
    path("account/sign-in/", pages.SignIn.as_view(), name="sign-in"),
    path("account/sign-up/", pages.sign_up, name="sign-up"),
    path("account/sign-out/", pages.sign_out, name="sign-out"),
    path("account/confirm/", pages.send_confirmation, name="send-confirmation"),
    path("account/confirm/<str:proof>/", pages.confirm, name="confirm"),
    path("account/password/", pages.ChangePassword.as_view(), name="password-change"),
    path("account/password/reset/", pages.password_reset, name="password-reset"),
    path("account/password/<uidb64>/<token>/", pages.SetPassword.as_view(), name="password-set"),
    path("account/tokens/", pages.new_token, name="new-token"),
    path("account/tokens/<int:pk>/revoke/", pages.revoke_token, name="revoke-token"),
    path("language/<slug:code>/", preferences.language, name="language"),
    path("theme/<slug:code>/", preferences.theme, name="theme"),
    path("account/delete/", pages.delete, name="delete-account"),
]
