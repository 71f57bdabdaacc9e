"""`make serve`: the whole service on one machine, from its servers to its pages; then watch it.

Postgres and Valkey first, the tables and the bundled catalog, then the web; worker and beat only
after the first page, since all at once start several times slower on two cores. Whatever ends by
itself is started again; a Postgres that will not stay up ends the service. `manage.py` has claimed
the home and set the environment before this module is read.
"""

import http.client
import os
import shutil
import signal
import socket
import sys
import threading
import time
from contextlib import nullcontext, suppress
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg
import redis
from django.core.management import BaseCommand, call_command, get_commands
from django.db import DatabaseError, connection, transaction

from config.children import Child, stop_all, stop_leftovers
from config.embedded import Servers, make_way
from config.home import HOME, Refused, addresses, mark, publish

HOST = "127.0.0.1"
FIRST_PAGE = 60  # [s] that the first page may take
TRIES = 3  # times that Postgres is started again, unless it lived a while in between
STOPPING = 10.5  # [s] for beat, worker and web together; the servers need 4 more at most
# What a search frees is kept for the next one: taking columns of 100 kB from the kernel anew each
# time costs as much as filling them. [B]
KEPT = {"MALLOC_MMAP_THRESHOLD_": str(2**26), "MALLOC_TRIM_THRESHOLD_": str(2**26)}
WEB = KEPT | {"DATABASE_POOL": "4"}  # one for each blocking thread
WORKER = KEPT | {
    "REMAP_SIGTERM": "SIGQUIT",  # what runs is put back, not waited for
    "WORKER_SOFT_SHUTDOWN_S": "3",  # whoever pressed Ctrl-C is waiting
    "DATABASE_POOL": "6",  # one, and one for each thread that delivers (watches.outbox)
}


class Stopped(BaseException):
    """Ctrl-C or SIGTERM came."""


class Command(BaseCommand):
    """Serve everything on one machine."""

    help = "Start Postgres and Valkey, the web server, worker and beat; stop them on Ctrl-C."
    requires_system_checks = ()

    def handle(self, *_args: Any, **_options: Any) -> None:
        """Serve until told to stop, and leave nothing behind however it ends."""
        service = Service(HOME)
        for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signum != signal.SIGHUP or signal.getsignal(signum) != signal.SIG_IGN:  # nohup
                signal.signal(signum, service.interrupt)
        watch_parent()
        try:
            service.start(chosen_port())
            service.watch()
        except Stopped:
            say("stopping…")
        except DatabaseError as error:
            raise Refused(f"The database refused: {str(error).strip().splitlines()[0]}") from None
        finally:
            service.stop()
        say("stopped.")


class Service:
    """All that one `make serve` runs."""

    def __init__(self, home: Path) -> None:
        """Nothing runs yet."""
        self.home = home
        self.servers = Servers(home)
        self.children: list[Child] = []
        self.stopping = False

    def interrupt(self, _signum: int, _frame: FrameType | None) -> None:
        """Break off what is going on, once: a second Ctrl-C does not disturb the stopping."""
        if not self.stopping:
            self.stopping = True
            raise Stopped

    def start(self, port: int) -> None:
        """Everything, in order, with a word on each step."""
        if left := stop_leftovers(self.home):
            say(f"stopped what an earlier launcher left: {', '.join(left)}.")
        refuse_taken(port)
        self._start_servers()
        prepare()
        publish(self.home)
        self._start_web(port)
        say(f"ready: http://{HOST}:{port}/")
        self._start_background()

    def _start_servers(self) -> None:
        own = addresses(self.home)
        ours = {name: os.environ[name] == own[name] for name in ("DATABASE_URL", "REDIS_URL")}
        if any(ours.values()):
            kept = (self.home / "postgres").exists()
            say("starting Postgres and Valkey…" if kept else "making the database…")
        self.servers.start(postgres=ours["DATABASE_URL"], valkey=ours["REDIS_URL"])
        if not ours["DATABASE_URL"]:
            ask_database(os.environ["DATABASE_URL"])
        if not ours["REDIS_URL"]:
            ask_redis(os.environ["REDIS_URL"])

    def _start_web(self, port: int) -> None:
        say("starting the web server…")
        counts = emptied(self.home / "metrics")
        web = self._child("web", granian(port), WEB | {"PROMETHEUS_MULTIPROC_DIR": str(counts)})
        deadline = time.monotonic() + FIRST_PAGE
        while not (status := page_status(port)):
            if not web.alive or time.monotonic() > deadline:
                raise Refused(f"The web server did not start; {web.last_words()}")
            time.sleep(0.05)
        if status >= 500:
            raise Refused(f"The first page answers {status}; {web.last_words()}")

    def _start_background(self) -> None:
        celery = ["-m", "celery", "-A", "config"]
        quiet = ["-l", "WARNING"]
        alone = ["--without-gossip", "--without-mingle", *quiet]
        worker = ["worker", "-c", "2", *alone]
        # What a watch has to tell does not wait behind a slow list.
        messenger = ["worker", "-c", "1", "-n", "messenger@%h", "-Q", "watches", *alone]
        schedule = self.home / "beat"
        schedule.mkdir(exist_ok=True)
        beat = ["beat", "-s", str(schedule / "schedule"), "--pidfile=", *quiet]
        self._child("worker", [*celery, *worker], WORKER)
        self._child("messenger", [*celery, *messenger], WORKER)
        self._child("beat", [*celery, *beat], WORKER)
        if "warm_estimates" in get_commands():
            self._child("estimates", ["manage.py", "warm_estimates"], WORKER, ["nice"])

    def _child(
        self,
        name: str,
        arguments: list[str],
        extra: dict[str, str],
        before: list[str] | None = None,
    ) -> Child:
        environment = dict(os.environ) | {"PYTHONUNBUFFERED": "1"} | extra
        command = [sys.executable, *arguments]
        child = Child(name, command, self.home, environment, before=before or [])
        self.children.append(child)
        child.start()
        return child

    def watch(self) -> None:
        """Until told to stop: start again what ends by itself, each time after a longer wait."""
        while not self.stopping:
            for child in [*self.children, *self.servers.running.values()]:
                if not child.alive:
                    self._fallen(child)
            time.sleep(0.2)

    def _fallen(self, child: Child) -> None:
        if child.name == "estimates":  # it runs once
            self.children.remove(child)
            if child.process and child.process.returncode:
                say(f"the first estimates failed; {child.last_words()}")
        elif not child.restart_at:
            wait = child.fall()
            if child.name == "postgres" and child.falls > TRIES:
                raise Refused(f"Postgres ended {TRIES + 1} times in a row; {child.last_words()}")
            again = f"{child.name} ended by itself, starting it again in {wait} s"
            say(f"{again}; {child.last_words()}")
        elif time.monotonic() >= child.restart_at:
            if child.name == "postgres":
                make_way(self.home / "postgres")
            child.start()

    def stop(self) -> None:
        """Stop beat, worker, web; then Valkey and Postgres. At most 15 s."""
        self.stopping = True
        mark("stopping")
        (self.home / "environment").unlink(missing_ok=True)
        order = ["beat", "estimates", "messenger", "worker", "web"]
        stop_all(sorted(self.children, key=lambda child: order.index(child.name)), STOPPING)
        self.servers.stop()


def prepare() -> None:
    """Tables, the bundled catalog, the static files."""
    say("bringing the tables up to date…")
    # The first time all of them or none: Django makes the tables of a migration and records it in
    # two transactions, and a launcher killed between the two would leave tables unaccounted for.
    first = not connection.introspection.table_names()
    with transaction.atomic() if first else nullcontext():
        call_command("migrate", interactive=False, verbosity=0)
    say("loading the bundled catalog…")
    call_command("load_catalog")
    say("collecting the static files…")
    call_command("collectstatic", interactive=False, verbosity=0)
    connection.close()
    connection.close_pool()  # type: ignore[attr-defined]  # the Postgres backend has one


def granian(port: int) -> list[str]:
    """The web server: two processes of four threads; more than 32 requests waiting are refused.

    One request at a time on a connection, which is what `config.hang_up` can end.
    """
    where = [
        "--interface",
        "wsgi",
        "--http",
        "1",
        "--host",
        HOST,
        "--port",
        str(port),
        "--workers",
        "2",
    ]
    limits = ["--blocking-threads", "4", "--backpressure", "32", "--workers-kill-timeout", "3"]
    return ["-m", "granian", *where, *limits, "--log-level", "warning", "config.wsgi:application"]


def emptied(folder: Path) -> Path:
    """The folder, with nothing in it: counts of processes that are gone."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    return folder


def page_status(port: int) -> int:
    """The HTTP status of the first page; 0 while nobody answers."""
    web = http.client.HTTPConnection(HOST, port, timeout=FIRST_PAGE)
    with suppress(OSError, http.client.HTTPException):
        web.request("GET", "/")
        return web.getresponse().status
    return 0


def chosen_port() -> int:
    """PORT, 8000 by default."""
    text = os.environ.get("PORT") or "8000"
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise Refused(f"PORT must be a number from 1 to 65535, not {text!r}.")
    return int(text)


def refuse_taken(port: int) -> None:
    """Refuse a port that we cannot have, before anything is started."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise Refused(
                f"Port {port} on {HOST} cannot be used ({error.strerror}): set PORT to another, as "
                "in `make serve PORT=8001`."
            ) from None


def ask_database(url: str) -> None:
    """Refuse a DATABASE_URL where nobody answers."""
    try:
        psycopg.connect(url, connect_timeout=5).close()
    except psycopg.Error as error:
        reason = str(error).strip().splitlines()[0]
        raise Refused(f"The database at DATABASE_URL does not answer: {reason}") from None


def ask_redis(url: str) -> None:
    """Refuse a REDIS_URL where nobody answers."""
    try:
        with redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=5) as client:
            client.ping()
    except (redis.RedisError, ValueError) as error:
        raise Refused(f"The server at REDIS_URL does not answer: {error}") from None


def watch_parent() -> None:
    """Under `make`, stop as well when make is gone, or dying of a SIGINT sent to it alone.

    make passes a SIGTERM on, but waits for us without a word after a SIGINT: it counts on the
    terminal to tell everyone.
    """
    if "MAKELEVEL" not in os.environ:
        return
    parent = os.getppid()
    telling = catches_interrupt(parent)  # not so in the background of a script

    def look() -> None:
        while os.getppid() == parent and catches_interrupt(parent) == telling:
            time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=look, daemon=True).start()


def catches_interrupt(pid: int) -> bool:
    """True while process `pid` handles SIGINT itself: `make` does, until it has taken one."""
    with suppress(OSError, StopIteration, ValueError):
        status = Path(f"/proc/{pid}/status").read_text().splitlines()
        caught = next(line for line in status if line.startswith("SigCgt:")).split()[1]
        return bool(int(caught, 16) & 1 << (signal.SIGINT - 1))
    return False


def say(words: str) -> None:
    """A line of progress; nobody may be listening any more."""
    with suppress(OSError):
        print(words, flush=True)
