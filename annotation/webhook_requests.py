"""One signed POST to an address that somebody entered: to the checked address and nowhere else.

Whoever can enter an address must not reach what only this machine can reach. So the name is
resolved once, every address it has is looked at, and the connection goes to one of these very
addresses; the name is kept for the Host header and for TLS. Redirects are not followed, proxies of
the environment are not used, and of an answer only the status is read.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

CONNECT_SECONDS = 5.0
# A server that sends a byte now and then would keep a thread for ever.
TOTAL_SECONDS = 15.0
TRIED_ADDRESSES = 3
NAT64 = ipaddress.ip_network("64:ff9b::/96")

IP = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefused(ValueError):
    """An address that is not called, ever; the message says why."""


class SendFailed(RuntimeError):
    """Nothing came back that could be read; the message says what happened, for people."""


@dataclass(frozen=True, slots=True)
class Target:
    """Where an address leads: `path` holds the query as well."""

    scheme: str
    host: str
    port: int
    path: str


def target_of(url: str, private_hosts: Collection[str] = ()) -> Target:
    """What `url` names. Hosts in `private_hosts` may be reached by plain http, too.

    Raises AddressRefused for another scheme, a name and password within, no host, a bad port, or
    a number that is not a public address.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise AddressRefused(f"The address cannot be read: {error}.") from error
    host = (parts.hostname or "").rstrip(".").lower()
    private = host in private_hosts
    if parts.scheme not in ("https", "http") or (parts.scheme == "http" and not private):
        raise AddressRefused("The address must begin with https://.")
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("The address must hold no name and no password.")
    if not host or not url.isascii() or any(ord(char) <= 32 for char in url):
        raise AddressRefused("The address must name a host and hold no spaces.")
    if not private and (literal := _literal(host)) is not None:
        _check(literal, host)
    path = parts.path or "/"
    return Target(
        parts.scheme,
        host,
        port or (443 if parts.scheme == "https" else 80),
        f"{path}?{parts.query}" if parts.query else path,
    )


def addresses_of(target: Target, private_hosts: Collection[str] = ()) -> list[str]:
    """All addresses of the host, resolved now, each of them public.

    Raises SendFailed (no such name), AddressRefused (one of them is not public, and the host is
    not among `private_hosts`).
    """
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise SendFailed(f"The host {target.host} cannot be resolved.") from error
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if target.host not in private_hosts:
        for address in addresses:
            _check(ipaddress.ip_address(address.partition("%")[0]), target.host)
    return addresses


def is_public(address: IP) -> bool:
    """Whether the address is one of the public internet; addresses that wrap another are asked
    for what they wrap.

    >>> is_public(ipaddress.ip_address("169.254.169.254"))
    False
    >>> is_public(ipaddress.ip_address("::ffff:127.0.0.1"))
    False
    """
    if isinstance(address, ipaddress.IPv6Address):
        if address.teredo is not None:
            return False
        wrapped = address.ipv4_mapped or address.sixtofour
        if address in NAT64:
            wrapped = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if wrapped is not None:
            return is_public(wrapped)
        if address.is_site_local:
            return False
    return address.is_global and not (
        address.is_multicast or address.is_reserved or address.is_unspecified
    )


def signature(key: bytes, message_id: str, timestamp: int, body: str) -> str:
    """Version and base64 of HMAC-SHA256 over `id.timestamp.body`, as Standard Webhooks has it."""
    signed = f"{message_id}.{timestamp}.{body}".encode()
    mac = hmac.new(key, signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(mac).decode()}"


def post(
    url: str, body: str, headers: Mapping[str, str], private_hosts: Collection[str] = ()
) -> int:
    """Send `body` (JSON) and return the status of the answer, whatever it is.

    Raises AddressRefused and SendFailed.
    """
    target = target_of(url, private_hosts)
    failure = "the host has no address"
    for address in addresses_of(target, private_hosts)[:TRIED_ADDRESSES]:
        connection = _connection(target)
        try:
            connection.sock = _connect(target, address)
        except (OSError, ssl.SSLError) as error:
            failure = _reason(error)
            continue
        return _exchange(connection, target, body, headers)
    raise SendFailed(f"No connection to {target.host}: {failure}.")


def _literal(host: str) -> IP | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


def _check(address: IP, host: str) -> None:
    if not is_public(address):
        raise AddressRefused(
            f"{host} is {address}, which is no public address. If it is meant, the person who "
            "runs the site lists the host in WEBHOOK_PRIVATE_HOSTS."
        )


def _connection(target: Target) -> http.client.HTTPConnection:
    """Without a socket yet: it only writes the request and reads the answer."""
    kind = http.client.HTTPSConnection if target.scheme == "https" else http.client.HTTPConnection
    return kind(target.host, target.port, timeout=CONNECT_SECONDS)


def _connect(target: Target, address: str) -> socket.socket:
    plain = socket.create_connection((address, target.port), timeout=CONNECT_SECONDS)
    if target.scheme == "http":
        return plain
    try:
        with _time_limit(plain):
            context = ssl.create_default_context()
            return context.wrap_socket(plain, server_hostname=target.host)
    except BaseException:
        plain.close()
        raise


def _exchange(
    connection: http.client.HTTPConnection, target: Target, body: str, headers: Mapping[str, str]
) -> int:
    sock = connection.sock
    sent = {"Content-Type": "application/json", "Connection": "close", **headers}
    try:
        with _time_limit(sock):
            connection.request("POST", target.path, body=body.encode(), headers=sent)
            return connection.getresponse().status
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise SendFailed(f"{target.host} gave no answer: {_reason(error)}.") from error
    finally:
        connection.close()
        # An answer that is left unread keeps a socket of its own.
        sock.close()


@contextmanager
def _time_limit(sock: socket.socket) -> Iterator[None]:
    """Whatever is read or written within fails when it takes too long in all."""
    late = threading.Timer(TOTAL_SECONDS, _hang_up, args=(sock,))
    late.daemon = True
    late.start()
    try:
        yield
    finally:
        late.cancel()


def _hang_up(sock: socket.socket) -> None:
    try:
        sock.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is closed already


def _reason(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not valid ({error.verify_message})"
    if isinstance(error, TimeoutError):
        return "it took too long"
    text = str(getattr(error, "strerror", None) or error or type(error).__name__)
    return text.splitlines()[0][:120].rstrip(".") if text else type(error).__name__
