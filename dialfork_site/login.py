"""Log-in: throttled, and closed to demo accounts from other machines."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView, redirect_to_login
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from dialfork_site import throttle
from dialfork_site.addresses import client_address, is_loopback
from dialfork_site.roles import DEMO_ACCOUNTS


@login_not_required
def admin_login(request: HttpRequest, extra_context: Any = None) -> HttpResponse:
    """The admin's own log-in page is not throttled, so the site's stands in for it."""
    return redirect_to_login(request.GET.get("next") or reverse("admin:index"))


class LoginForm(AuthenticationForm):
    """With a `refusal` the form shows that sentence and looks at no password."""

    refusal = ""

    def clean(self) -> dict[str, Any]:
        if self.refusal:
            raise forms.ValidationError(self.refusal, code="throttled")
        return super().clean()

    def confirm_login_allowed(self, user: Any) -> None:
        """The demo's passwords lie in a file: they open nothing from another machine."""
        super().confirm_login_allowed(user)
        if is_loopback(client_address(self.request)):
            return
        if user.groups.filter(name=DEMO_ACCOUNTS).exists():
            raise forms.ValidationError(
                _(
                    "Demo accounts work only on the machine that runs the demo. "
                    "Ask an admin for an account of your own."
                ),
                code="demo_account",
            )


class ThrottledLogin(LoginView):
    template_name = "registration/login.html"
    authentication_form = LoginForm

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        username, address = request.POST.get("username", ""), client_address(request)
        try:
            throttle.enter(username, address)
        except throttle.TooManyAttempts as refusal:
            return self.refuse(refusal.seconds)
        form = self.get_form()
        if form.is_valid():
            throttle.forget(username, address)
            return self.form_valid(form)
        return self.form_invalid(form)

    def refuse(self, seconds: int) -> HttpResponse:
        """429 with the form still there; the sentence says when the next attempt is heard."""
        minutes = -(-seconds // 60)
        form = self.get_form()
        form.refusal = ngettext(
            "Too many failed attempts. Try again in %(n)d minute.",
            "Too many failed attempts. Try again in %(n)d minutes.",
            minutes,
        ) % {"n": minutes}
        response = self.render_to_response(self.get_context_data(form=form), status=429)
        response["Retry-After"] = str(seconds)
        return response
