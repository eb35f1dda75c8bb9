"""Log-in: throttled per account and address, closed to demo accounts from elsewhere."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group
from django.urls import reverse
from django.utils import timezone

from dialfork_site import throttle
from dialfork_site.models import FailedLogin
from dialfork_site.roles import DEMO_ACCOUNTS

RIGHT, WRONG = "a-long-pass-phrase", "not-the-pass-phrase"


@pytest.fixture
def try_login(client):
    def post(username, password, address="127.0.0.1", **headers):
        data = {"username": username, "password": password}
        return client.post(reverse("login"), data, REMOTE_ADDR=address, headers=headers)

    return post


def fail(try_login, n, username="ann", address="127.0.0.1"):
    return [try_login(username, WRONG, address).status_code for _ in range(n)]


def test_the_right_password_leads_home(try_login, annotator):
    response = try_login("ann", RIGHT)
    assert response.status_code == 302
    assert response.url == reverse("home")


def test_the_sixth_failure_is_refused_with_a_sentence(try_login, annotator):
    assert fail(try_login, 5) == [200] * 5
    response = try_login("ann", WRONG)
    assert response.status_code == 429
    assert 0 < int(response["Retry-After"]) <= 300
    assert "Too many failed attempts. Try again in 5 minutes." in response.text


def test_while_refused_the_right_password_opens_nothing(try_login, client, annotator):
    fail(try_login, 5)
    assert try_login("ann", RIGHT).status_code == 429
    assert "_auth_user_id" not in client.session


def test_other_spellings_of_an_account_share_its_count(try_login, annotator):
    fail(try_login, 5, username="ann")
    assert try_login(" ANN ", WRONG).status_code == 429


def test_refusals_do_not_lengthen_the_wait(try_login, annotator):
    fail(try_login, 8)
    FailedLogin.objects.update(at=timezone.now() - throttle.WINDOW - timedelta(seconds=1))
    assert try_login("ann", RIGHT).status_code == 302


def test_a_success_clears_the_count(try_login, annotator):
    fail(try_login, 4)
    assert try_login("ann", RIGHT).status_code == 302
    assert fail(try_login, 5) == [200] * 5


def test_another_account_and_another_address_are_still_heard(try_login, annotator, other_annotator):
    fail(try_login, 6)
    assert try_login("bo", RIGHT).status_code == 302
    assert try_login("ann", RIGHT, address="127.0.0.9").status_code == 302


def test_one_address_cannot_try_many_accounts(try_login, db, monkeypatch):
    monkeypatch.setattr(throttle, "PER_ADDRESS", 3)
    assert [fail(try_login, 1, username=f"guess{i}")[0] for i in range(4)] == [200, 200, 200, 429]


def test_behind_a_proxy_the_visitors_address_counts(try_login, annotator, settings):
    settings.TRUSTED_PROXIES = 1
    for n in range(5):
        # What the visitor adds on the left changes nothing.
        try_login("ann", WRONG, X_Forwarded_For=f"10.9.9.{n}, 192.0.2.7")
    assert try_login("ann", RIGHT, X_Forwarded_For="192.0.2.7").status_code == 429
    assert try_login("ann", RIGHT, X_Forwarded_For="192.0.2.8").status_code == 302


def test_the_header_is_not_believed_without_a_proxy(try_login, annotator):
    for n in range(5):
        try_login("ann", WRONG, X_Forwarded_For=f"192.0.2.{n}")
    assert try_login("ann", RIGHT, X_Forwarded_For="192.0.2.200").status_code == 429


def test_typed_names_are_not_stored_in_clear(try_login, db):
    fail(try_login, 1, username="my-secret-by-mistake")
    row = FailedLogin.objects.get()
    assert "secret" not in row.account
    assert len(row.account) == 64


def test_a_demo_account_opens_nothing_from_another_machine(try_login, client, annotator):
    annotator.groups.add(Group.objects.create(name=DEMO_ACCOUNTS))
    response = try_login("ann", RIGHT, address="192.0.2.7")
    assert response.status_code == 200
    assert "Demo accounts work only on the machine that runs the demo." in response.text
    assert "_auth_user_id" not in client.session
    assert try_login("ann", RIGHT, address="::1").status_code == 302


def test_the_admin_has_no_log_in_of_its_own(client, db):
    response = client.post("/admin/login/?next=/admin/auth/", {"username": "a", "password": "b"})
    assert response.status_code == 302
    assert response.url == "/accounts/login/?next=/admin/auth/"


def test_after_log_in_no_other_site_is_opened(client, annotator):
    data = {"username": "ann", "password": RIGHT, "next": "https://example.org/"}
    assert client.post("/admin/login/?next=https://example.org/").status_code == 302
    assert client.post(reverse("login"), data).url == reverse("home")
