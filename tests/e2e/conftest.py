"""The service as it is served, over the bundled catalog, and a browser to look at it with.

The web server, its collected files and a database of its own: the tests' database is left alone.
Everything here is `privileged`: it needs Debian's chromium, which `.ci/run` installs.
"""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Response, sync_playwright

ROOT = Path(__file__).parents[2]
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PATIENCE = 30  # [s] that the server may take
RANKED = 90_000  # [ms] that a ranking may take which nobody has asked for before


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def manage(environment: dict[str, str], *arguments: str) -> str:
    """What a command of the service prints."""
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT, env=environment, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout


@contextmanager
def filled(name: str, home: Path) -> Iterator[dict[str, str]]:
    """The environment of every process of a service: a database of its own, with the catalog."""
    with alone(f"{name}_{os.getpid()}", home) as given:
        for command in (("migrate",), ("load_catalog",), ("collectstatic", "--no-input")):
            manage(given, *command)
        yield given


@contextmanager
def alone(name: str, home: Path, like: str = "template1") -> Iterator[dict[str, str]]:
    """That of processes which keep all in this home and a new database, gone after the block."""
    parts = urlsplit(os.environ["DATABASE_URL"])
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as admin:
        admin.execute(f"create database {name} template {like}")
        try:
            yield os.environ | {
                "DATABASE_URL": urlunsplit(parts._replace(path=f"/{name}")),
                "FABRICSCOUT_HOME": str(home),
                "ALLOWED_HOSTS": "127.0.0.1",
                "HTTPS": "0",
            }
        finally:
            admin.execute(f"drop database {name} with (force)")


class Copies:
    """Of a filled database and home: services begin with one each, and it is filled once."""

    def __init__(self, filled: dict[str, str]) -> None:
        self.name = urlsplit(filled["DATABASE_URL"]).path[1:]
        self.home = Path(filled["FABRICSCOUT_HOME"])

    @contextmanager
    def one(self, home: Path) -> Iterator[dict[str, str]]:
        """The environment of a service with a copy of its own."""
        shutil.copytree(self.home, home, dirs_exist_ok=True)
        with alone(f"{self.name}_{home.name}", home, like=self.name) as given:
            yield given


# Of the folder rather than of the session: nothing of it is left running beside the other tests.
@pytest.fixture(scope="package")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copies]:
    """Of the bundled catalog."""
    with filled("e2e", tmp_path_factory.mktemp("filled")) as given:
        yield Copies(given)


@pytest.fixture(scope="package")
def service(copies: Copies, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where the service answers, over the bundled catalog alone."""
    with copies.one(tmp_path_factory.mktemp("home")) as given, serving(given) as address:
        yield address


class serving:  # noqa: N801 -- reads as a context
    """The web server, until the block ends."""

    def __init__(self, environment: dict[str, str]) -> None:
        port = free_port()
        self.address = f"http://127.0.0.1:{port}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1",
             "--port", str(port), "--blocking-threads", "2", "config.wsgi:application"],
            cwd=ROOT, env=environment | {"PORT": str(port)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip

    def __enter__(self) -> str:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                with urllib.request.urlopen(f"{self.address}/healthz", timeout=2):
                    return self.address
            except OSError:
                time.sleep(0.1)
        self.process.terminate()
        raise TimeoutError(self.address)

    def __exit__(self, *_error: object) -> None:
        self.process.terminate()
        self.process.wait(10)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Debian's chromium."""
    # Playwright leaves an event loop running in this thread, for as long as the browser is open;
    # Django would refuse the database to whoever asks it in the meantime.
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        chromium = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=ARGUMENTS
        )
        yield chromium
        chromium.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the browser had to say: errors of the console, of the policy, of the network."""
    return []


def opened(context: BrowserContext, complaints: list[str]) -> Page:
    """A page that notes what goes wrong, and waits for a ranking that goes on by itself."""
    page = context.new_page()
    go = page.goto

    def goto(address: str, **more: Any) -> Response | None:
        answer = go(address, **more)
        page.locator("#far").wait_for(state="detached", timeout=RANKED)
        return answer

    page.goto = goto  # type: ignore[method-assign]
    page.on(
        "console",
        lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None,
    )
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("requestfailed", lambda request: complaints.extend(failure(request)))
    page.on(
        "response",
        lambda answer: (
            complaints.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
        ),
    )
    return page


def failure(request: Request) -> list[str]:
    """A request that failed, unless the page simply went on to the next address."""
    return [] if request.failure == "net::ERR_ABORTED" else [f"failed: {request.url}"]


@pytest.fixture
def page(browser: Browser, service: str, complaints: list[str]) -> Iterator[Page]:
    """A wide page with JavaScript; at its end nothing may have gone wrong."""
    context = browser.new_context(base_url=service, viewport={"width": 1440, "height": 900})
    yield opened(context, complaints)
    context.close()
    assert complaints == []


@pytest.fixture
def plain(browser: Browser, service: str, complaints: list[str]) -> Iterator[Page]:
    """A page without JavaScript."""
    context = browser.new_context(base_url=service, java_script_enabled=False)
    yield opened(context, complaints)
    context.close()
    assert complaints == []


PHONES = (320, 390)


@pytest.fixture
def phone(browser: Browser, service: str, complaints: list[str]) -> Iterator[Page]:
    """A phone, dark, the narrowest of them."""
    context = browser.new_context(
        base_url=service, viewport={"width": PHONES[0], "height": 800}, color_scheme="dark"
    )
    yield opened(context, complaints)
    context.close()
    assert complaints == []


def each_phone(page: Page) -> Iterator[int]:
    """The page that is open, on one phone after another."""
    for width in PHONES:
        page.set_viewport_size({"width": width, "height": 800})
        yield width
