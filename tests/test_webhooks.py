"""Events reach those who asked for them: signed, repeated when need be, and to no inner address."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.server
import ipaddress
import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from annotation import judging, webhook_requests, webhook_sending
from annotation.announcing import announce
from annotation.enrolment import assign_seat
from annotation.models import Delivery, Webhook
from annotation.webhook_requests import AddressRefused, SendFailed, is_public, target_of
from dialfork_site import health
from tests.studies import item_at, make_study


class Receiver:
    """A server on a port of its own that keeps what it gets and answers as it is told."""

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.got: list[tuple[str, dict[str, str], str]] = []
        self.statuses: list[int] = []
        self.headers: dict[str, str] = {}
        self.pause = 0.0
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                receiver.got.append((self.path, dict(self.headers), body))
                time.sleep(receiver.pause)
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                for name, value in receiver.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, *args):
                return

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.handle_error = lambda *args: None
        if context:
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.port = self.server.server_port
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,))
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def receiver():
    server = Receiver()
    yield server
    server.stop()


@pytest.fixture
def allowed(settings):
    settings.WEBHOOK_PRIVATE_HOSTS = ["127.0.0.1", "localhost"]


@pytest.fixture
def hook(db, receiver):
    return Webhook.objects.create(
        url=f"http://127.0.0.1:{receiver.port}/hook?team=1", events=["study.launched"]
    )


def test_an_event_arrives_once_and_its_signature_can_be_checked(allowed, receiver, hook):
    (delivery,) = announce("study.launched", {"study": "winter"})
    assert webhook_sending.send_due() == 1
    assert webhook_sending.send_due() == 0
    ((path, headers, body),) = receiver.got
    assert path == "/hook?team=1"
    assert json.loads(body)["data"] == {"study": "winter"}
    assert headers["Webhook-Id"] == str(delivery.event_id)
    assert headers["Host"] == f"127.0.0.1:{receiver.port}"
    key = base64.b64decode(webhook_sending.shown_key(hook).removeprefix("whsec_"))
    signed = f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.{body}".encode()
    mac = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    assert headers["Webhook-Signature"] == f"v1,{mac}"
    assert abs(int(headers["Webhook-Timestamp"]) - time.time()) < 60
    delivery.refresh_from_db()
    assert (delivery.last_status, delivery.next_at, delivery.attempts) == (200, None, 1)


def test_only_those_who_asked_are_told(allowed, receiver, hook):
    Webhook.objects.create(url=hook.url, events=["study.launched"], active=False)
    announce("release.published", {"slug": "r"})
    assert not Delivery.objects.exists()
    with pytest.raises(ValueError, match="is no event"):
        announce("study.forgotten", {})


def test_a_failing_receiver_is_tried_eight_times_with_growing_waits(allowed, receiver, hook):
    receiver.statuses = [500] * 20
    (delivery,) = announce("study.launched", {})
    now, waits = timezone.now(), []
    for _ in range(8):
        assert webhook_sending.send_due(now) == 0
        delivery.refresh_from_db()
        if delivery.next_at:
            waits.append(delivery.next_at - now)
            assert webhook_sending.send_due(delivery.next_at - timedelta(seconds=1)) == 0
            now = delivery.next_at
    assert len(receiver.got) == delivery.attempts == 8
    assert waits == sorted(waits)
    assert delivery.next_at is None
    assert delivery.last_error == "The answer had status 500."
    assert len({body for _, _, body in receiver.got}) == 1
    webhook_sending.send_due(now + timedelta(days=9))
    assert len(receiver.got) == 8


def test_a_receiver_that_recovers_gets_the_event(allowed, receiver, hook):
    receiver.statuses = [503]
    (delivery,) = announce("study.launched", {})
    assert webhook_sending.send_due() == 0
    assert webhook_sending.send_due(timezone.now() + timedelta(minutes=2)) == 1
    delivery.refresh_from_db()
    assert (delivery.last_status, delivery.last_error) == (200, "")


def test_a_receiver_that_is_gone_is_left_alone(allowed, receiver, hook):
    receiver.statuses = [410]
    (delivery,) = announce("study.launched", {})
    webhook_sending.send_due()
    delivery.refresh_from_db()
    assert delivery.next_at is None
    assert delivery.delivered_at is None


def test_a_redirect_is_not_followed(allowed, receiver, hook):
    receiver.statuses = [302]
    receiver.headers = {"Location": f"http://127.0.0.1:{receiver.port}/elsewhere"}
    announce("study.launched", {})
    assert webhook_sending.send_due() == 0
    assert [path for path, _, _ in receiver.got] == ["/hook?team=1"]


def test_an_inner_address_is_refused_without_the_setting(receiver, hook):
    (delivery,) = announce("study.launched", {})
    assert webhook_sending.send_due() == 0
    assert receiver.got == []
    delivery.refresh_from_db()
    assert "https://" in delivery.last_error
    assert delivery.last_status is None


def test_a_name_that_leads_to_an_inner_address_is_refused_before_any_connection(monkeypatch):
    def resolve(host, port, **options):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: pytest.fail("connected"))
    with pytest.raises(AddressRefused, match=r"127\.0\.0\.1, which is no public address"):
        webhook_requests.post("https://rebound.example/x", "{}", {})


def test_one_inner_address_among_public_ones_is_refused(monkeypatch):
    def resolve(host, port, **options):
        return [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port))
            for one in ("93.184.216.34", "10.0.0.7")
        ]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.7"):
        webhook_requests.post("https://mixed.example/", "{}", {})


def test_the_name_is_resolved_once_and_the_checked_address_is_called(monkeypatch):
    """A name server that answers differently the second time changes nothing."""
    answers = ["93.184.216.34", "127.0.0.1"]
    called = []

    def resolve(host, port, **options):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (answers.pop(0), port))]

    def connect(address, **options):
        called.append(address)
        raise ConnectionRefusedError(111, "Connection refused")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(SendFailed, match=r"No connection to rebound\.example: Connection refused"):
        webhook_requests.post("https://rebound.example/", "{}", {})
    assert called == [("93.184.216.34", 443)]
    assert answers == ["127.0.0.1"]


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "0.0.0.0",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "100.64.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "fe80::1",
        "fc00::1",
        "fec0::1",
        "ff02::1",
        "::ffff:10.0.0.1",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    ],
)
def test_addresses_of_inner_networks_are_not_public(address):
    assert not is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize("address", ["93.184.216.34", "1.1.1.1", "2606:4700:4700::1111"])
def test_addresses_of_the_internet_are_public(address):
    assert is_public(ipaddress.ip_address(address))


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("http://example.org/", "must begin with https"),
        ("ftp://example.org/", "must begin with https"),
        ("https://", "must name a host"),
        ("https://me:secret@example.org/", "no name and no password"),
        ("https://127.0.0.1/", "no public address"),
        ("https://[::1]:8443/", "no public address"),
        ("https://example.org:99999/", "cannot be read"),
        ("https://exam ple.org/", "no spaces"),
        ("https://example.org/a\r\nX-Other: 1", "no spaces"),
    ],
)
def test_an_address_that_is_never_called_is_named(url, sentence):
    with pytest.raises(AddressRefused, match=sentence):
        target_of(url)


def test_a_slow_receiver_is_given_up(allowed, receiver, hook, monkeypatch):
    monkeypatch.setattr(webhook_requests, "TOTAL_SECONDS", 0.2)
    receiver.pause = 1.0
    (delivery,) = announce("study.launched", {})
    started = time.monotonic()
    assert webhook_sending.send_due() == 0
    assert time.monotonic() - started < 0.9
    delivery.refresh_from_db()
    assert "gave no answer" in delivery.last_error


def test_nobody_listening_is_said_in_words(allowed, db):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    Webhook.objects.create(url=f"http://localhost:{port}/", events=["study.launched"])
    (delivery,) = announce("study.launched", {})
    webhook_sending.send_due()
    delivery.refresh_from_db()
    assert delivery.last_error == "No connection to localhost: Connection refused."


def test_a_delivery_is_sent_by_one_sender_only(allowed, receiver, hook):
    (delivery,) = announce("study.launched", {})
    stale = Delivery.objects.select_related("webhook").get(pk=delivery.pk)
    assert webhook_sending.send(Delivery.objects.select_related("webhook").get(pk=delivery.pk))
    assert not webhook_sending.send(stale)
    assert len(receiver.got) == 1


def test_a_broken_receiver_is_asked_once_in_a_round(allowed, receiver, hook):
    receiver.statuses = [500] * 5
    for _ in range(3):
        announce("study.launched", {})
    now = timezone.now()
    webhook_sending.send_due(now)
    assert len(receiver.got) == 1
    assert sorted(Delivery.objects.values_list("attempts", flat=True)) == [0, 0, 1]
    assert not webhook_sending.due(now).exists()
    webhook_sending.send_due(now + timedelta(minutes=1))
    assert len(receiver.got) == 2


def test_events_that_nobody_sends_are_said_and_a_retry_is_not(allowed, receiver, hook):
    def said():
        return next(one for one in health.findings() if one.name == "webhooks")

    announce("study.launched", {})
    assert said().ok
    Delivery.objects.update(next_at=timezone.now() - timedelta(minutes=6))
    assert not said().ok
    assert said().sentence == "1 event is late: no worker has sent them. Start one."
    receiver.statuses = [500]
    webhook_sending.send_due()
    assert said().ok
    assert said().sentence == "1 delivery waits for the next try."
    Delivery.objects.update(next_at=None)
    assert "1 could not be delivered" in said().sentence


def test_what_arrived_is_forgotten_after_thirty_days(allowed, receiver, hook):
    announce("study.launched", {})
    webhook_sending.send_due()
    assert webhook_sending.forget_old(timezone.now() + timedelta(days=29)) == 0
    assert webhook_sending.forget_old(timezone.now() + timedelta(days=31)) == 1


@pytest.fixture
def certificate(tmp_path):
    """A certificate for localhost that signs itself."""
    if not shutil.which("openssl"):
        pytest.skip("needs openssl")
    key, cert = tmp_path / "key.pem", tmp_path / "cert.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-keyout", str(key), "-out", str(cert), "-subj", "/CN=localhost"]
    command += ["-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(command, check=True, capture_output=True)
    return key, cert


def test_tls_asks_for_the_name_and_checks_the_certificate(certificate, monkeypatch):
    key, cert = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    names = []
    context.sni_callback = lambda sock, name, ctx: names.append(name)
    server = Receiver(context)
    try:
        url = f"https://localhost:{server.port}/"
        with pytest.raises(SendFailed, match="its certificate is not valid"):
            webhook_requests.post(url, "{}", {}, ["localhost"])
        monkeypatch.setenv("SSL_CERT_FILE", str(cert))
        assert webhook_requests.post(url, "{}", {}, ["localhost"]) == 200
        assert set(names) == {"localhost"}
        assert server.got[0][1]["Host"] == f"localhost:{server.port}"
    finally:
        server.stop()


def test_a_finished_item_is_announced_without_its_condition(db, annotator):
    Webhook.objects.create(url="https://example.org/", events=["annotation.submitted"])
    seat = assign_seat(make_study(), annotator)
    early, whole = item_at(seat, k=1), item_at(seat)
    judging.record_slider(early, 80)
    assert not Delivery.objects.exists()
    judging.record_confirmation(early, "no")
    judging.record_skip(whole, "other", "a note")
    data = [json.loads(d.body)["data"] for d in Delivery.objects.order_by("id")]
    common = {"study": "winter", "annotator": seat.pseudonym, "attempt": 1}
    assert data == [common | {"status": "submitted"}, common | {"status": "skipped"}]


def test_an_admin_sends_a_test_and_reads_the_log(admin_client, allowed, receiver, hook):
    changelist = reverse("admin:annotation_webhook_changelist")
    response = admin_client.post(
        changelist, {"action": "send_a_test", "_selected_action": [hook.pk]}, follow=True
    )
    assert "arrived" in response.content.decode()
    ((_, headers, body),) = receiver.got
    assert json.loads(body)["event"] == headers["X-DialFork-Event"] == "webhook.test"
    log = admin_client.get(reverse("admin:annotation_delivery_changelist")).content.decode()
    assert "webhook.test" in log


def test_an_inner_address_is_refused_when_it_is_entered(admin_client, db):
    response = admin_client.post(
        reverse("admin:annotation_webhook_add"),
        {"url": "https://192.168.0.1/hook", "events": ["study.launched"], "active": "on"},
    )
    assert response.status_code == 200
    assert "no public address" in response.content.decode()
    assert not Webhook.objects.exists()


def test_a_webhook_shows_its_key_and_stores_none(admin_client, hook):
    page = admin_client.get(reverse("admin:annotation_webhook_change", args=[hook.pk]))
    assert webhook_sending.shown_key(hook) in page.content.decode()
    assert webhook_sending.shown_key(hook) not in json.dumps(
        list(Webhook.objects.values("url", "events", "nonce", "active"))
    )
