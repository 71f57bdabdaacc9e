"""Which addresses are called: judged when they are saved, and again at each connection."""

import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpcore
import pytest

from catalog import connections
from tests.scrapers.loopback import Answer, serve
from watches import sender, targets
from watches.sender import Failure

PUBLIC = "93.184.215.14"
LOOPBACK_SPELLINGS = [
    "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "①②⑦.0.0.1", "localhost.", "[::ffff:127.0.0.1]",
    "0", "0x7f000001", "017700000001", "127.0.0.1.", "１２７.0.0.1", "localhost", "LOCALHOST",
    "a.localhost", "127.0.0.0x1", "0.0.0.0", "[::]", "[::1]", "[0:0:0:0:0:0:0:1]",  # noqa: S104
]  # fmt: skip
NOT_PUBLIC = [
    "10.0.0.1", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.0.0.1", "192.0.2.1",
    "192.88.99.1", "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.1", "224.0.0.1",
    "239.255.255.255", "240.0.0.1", "255.255.255.255", "[fe80::1]", "[fec0::1]", "[fc00::1]",
    "[ff02::1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::1]", "[2002:7f00:1::]", "[::127.0.0.1]",
    "[::ffff:0:127.0.0.1]", "[2001::1]", "[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]",
    "[fe80::1%25eth0]", "metadata.google.internal", "printer.local", "router", "x.onion",
    "1.0.0.127.in-addr.arpa",
]  # fmt: skip


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """`names("…", "…")`: what every name resolves to. Nothing here has a resolver of its own, so
    the one call by which Python asks it is the one thing replaced."""
    real = socket.getaddrinfo

    def resolve(*addresses: str) -> None:
        def ask(host: str, port: int, *args: object, **named: object) -> list[object]:
            if host in addresses or host[:1].isdigit() or ":" in host:
                return real(host, port, *args, **named)
            if not addresses:
                raise socket.gaierror(socket.EAI_NONAME, "no such name")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (a, port)) for a in addresses]

        monkeypatch.setattr(socket, "getaddrinfo", ask)

    return resolve


@pytest.mark.parametrize("host", ["xn--a", "xn--", "xn--zz--.com", "xn--n3h.com", "☃.net"])
def test_a_name_that_idna_has_not_is_no_address(host: str) -> None:
    with pytest.raises(targets.Refused):
        targets.read(f"https://{host}/")


@pytest.mark.parametrize("host", LOOPBACK_SPELLINGS + NOT_PUBLIC)
def test_what_is_not_public_is_refused_when_saved_and_when_called(
    host: str, names: Callable[..., None]
) -> None:
    names("127.0.0.1")
    address = f"https://{host}/in"
    with pytest.raises(targets.Refused):
        targets.checked(address)
    assert sender.post(address, {}, b"{}").failure == Failure.REFUSED


@pytest.mark.parametrize(
    "address",
    [
        "http://example.com/", "file:///etc/passwd", "gopher://example.com/", "ftp://example.com/",
        "//example.com/", "example.com", "", "https://", "https:///x", "https://user@example.com/",
        "https://user:pass@example.com/", "https://:pass@example.com/", "https://example.com:22/",
        "https://example.com:25/", "https://example.com:5432/", "https://example.com:6379/",
        "https://example.com:80/", "https://example.com:0/", "https://example.com:99999/",
        "https://example.com:443x/", "https://example.com/\r\nX: y", "https://example.com/%0d%0aX",
        "https://exa\nmple.com/", "https://example.com/a b", "https://good.example\\@127.0.0.1/",
        "https://example.com/#x", "https://exa mple.com/", "https://example.com/\x00",
        "https://[::1/", "https://[v1.x]/", "https://example..com/", f"https://{'a' * 64}.com/",
        f"https://example.com/{'a' * 1000}", "javascript:alert(1)", "https://example.com%2f@::1/",
    ],
)  # fmt: skip
def test_forms_that_are_refused(address: str, names: Callable[..., None]) -> None:
    names(PUBLIC)
    with pytest.raises(targets.Refused):
        targets.checked(address)
    assert sender.post(address, {}, b"{}").failure == Failure.REFUSED


@pytest.mark.parametrize(
    "address",
    [
        "https://example.com", "https://example.com/in?key=1", "https://example.com:8443/in",
        "https://1.1.1.1/", "https://[2606:4700::1111]/", "https://bücher.example/", "HTTPS://EXAMPLE.com./",
    ],
)  # fmt: skip
def test_addresses_that_are_taken(address: str, names: Callable[..., None]) -> None:
    names(PUBLIC)
    assert targets.checked(address).scheme == "https"


def test_a_name_that_nobody_knows_just_now_is_taken_and_judged_at_each_call(
    names: Callable[..., None],
) -> None:
    names()
    targets.checked("https://not-yet.example/")
    assert sender.post("https://not-yet.example/", {}, b"{}").failure == Failure.NO_NAME
    names("10.0.0.1")
    assert sender.post("https://not-yet.example/", {}, b"{}").failure == Failure.REFUSED


def test_a_name_with_one_public_and_one_private_answer_is_refused(
    names: Callable[..., None],
) -> None:
    with serve([Answer(b"inside")]) as inside:
        names(PUBLIC, "127.0.0.1")
        with pytest.raises(targets.Refused):
            targets.checked("https://two.example/")
        assert sender.post("https://two.example/", {}, b"{}").failure == Failure.REFUSED
        assert inside.requests == []


def test_a_resolver_that_does_not_answer_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    enough = threading.Event()

    def silent(*_args: object, **_named: object) -> None:
        enough.wait(5)
        raise socket.gaierror(socket.EAI_AGAIN, "at last")

    monkeypatch.setattr(socket, "getaddrinfo", silent)
    monkeypatch.setattr(targets, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(sender, "SECONDS", 0.3)
    began = time.monotonic()
    targets.checked("https://slow.example/")
    assert sender.post("https://slow.example/", {}, b"{}").failure == Failure.SLOW
    assert time.monotonic() - began < 2
    enough.set()


# --- With TLS: a real server, whose public address is wired to loopback -----------------------


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Tls":
    """A server for pinned.example; only the last step, opening a socket to PUBLIC, leads to it."""
    return Tls(tmp_path, monkeypatch)


class Tls:
    """What its clients said: the name in their hello, and the head of their request."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout",
             folder / "key", "-out", folder / "cert", "-subj", "/CN=pinned.example",
             "-addext", "subjectAltName=DNS:pinned.example"],
            check=True, capture_output=True,
        )  # fmt: skip
        trusted = ssl.create_default_context(cafile=str(folder / "cert"))
        monkeypatch.setattr(connections, "trusted", lambda: trusted)
        self.names: list[str | None] = []
        self.heads: list[bytes] = []
        self.opened: list[str] = []
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "cert", folder / "key")
        context.sni_callback = lambda _socket, name, _context: self.names.append(name)
        listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, args=(listening, context), daemon=True).start()
        opens = httpcore.SyncBackend.connect_tcp

        def connect(this: object, host: str, port: int, *rest: object) -> object:
            self.opened.append(host)
            return opens(this, "127.0.0.1", listening.getsockname()[1], *rest)  # type: ignore[arg-type]

        monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)

    def _serve(self, listening: socket.socket, context: ssl.SSLContext) -> None:
        while True:
            plain, _ = listening.accept()
            try:
                with context.wrap_socket(plain, server_side=True) as peer:
                    head = b""
                    while not head.endswith(b"\r\n\r\n{}"):
                        head += peer.recv(65536)
                    self.heads.append(head)
                    peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            except OSError:
                continue


def test_the_checked_address_is_called_and_tls_and_host_keep_the_name(
    tls: Tls, names: Callable[..., None]
) -> None:
    names(PUBLIC)
    outcome = sender.post("https://pinned.example:8443/in", {"X-A": "b"}, b"{}")
    assert (outcome.failure, outcome.status) == (None, 200)
    assert tls.opened == [PUBLIC]
    assert tls.names == ["pinned.example"]
    head = tls.heads[0].lower()
    assert b"host: pinned.example:8443\r\n" in head
    assert head.startswith(b"post /in http/1.1\r\n")


def test_a_certificate_of_another_name_is_not_believed(
    tls: Tls, names: Callable[..., None]
) -> None:
    names(PUBLIC)
    assert sender.post("https://other.example/", {}, b"{}").failure == Failure.NO_TRUST
    assert tls.heads == []


def test_an_answer_that_changes_between_check_and_connect_leads_nowhere(
    tls: Tls, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Public whenever it is asked an odd number of times, loopback when even."""
    asked = []

    def turncoat(_host: str, port: int, **_: object) -> list[object]:
        asked.append(port)
        address = PUBLIC if len(asked) % 2 else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def opens(_self: object, host: str, *_: object) -> None:
        tls.opened.append(host)
        raise httpcore.ConnectError

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", opens)
    monkeypatch.setattr(socket, "getaddrinfo", turncoat)
    for _ in range(3):
        targets_checked = targets.read("https://turncoat.example/")
        sender.post(str(targets_checked), {}, b"{}")
        sender.post(str(targets_checked), {}, b"{}")
    assert set(tls.opened) == {PUBLIC}


def test_proxies_of_the_environment_are_not_asked(
    tls: Tls, names: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    names(PUBLIC)
    with serve([Answer(b"proxied")]) as proxy:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert sender.post("https://pinned.example/", {}, b"{}").status == 200
        assert proxy.requests == []
