"""`make serve`: the whole service on one machine, started, stopped, killed and started again."""

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

import psutil
import pytest

from config.home import BASE_DIR, HOME, Refused, running, sockets
from config.management.commands.up import chosen_port

OURS = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "HTTPS", "ALLOWED_HOSTS", "MAKELEVEL")
READY = 60  # [s] on a busy machine; what it takes on an idle one, README says


def environment(home: Path, **extra: str) -> dict[str, str]:
    """That of a shell in which nothing of ours is set but the home."""
    kept = {name: value for name, value in os.environ.items() if name not in OURS}
    return kept | {"FABRICSCOUT_HOME": str(home)} | extra


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def manage(home: Path, *words: str, **extra: str) -> subprocess.CompletedProcess[str]:
    """`python manage.py …`, as typed in another shell."""
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(
        command,
        cwd=BASE_DIR,
        env=environment(home, **extra),
        capture_output=True,
        text=True,
        timeout=READY,
        check=False,
    )


@dataclass
class Launcher:
    """One `make serve`, or the part of it that make starts."""

    home: Path
    extra: dict[str, str] = field(default_factory=dict)
    port: int = field(default_factory=free_port)
    command: tuple[str, ...] = (sys.executable, "manage.py", "up")
    said: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Start it, and listen to what it says."""
        self.process = subprocess.Popen(
            self.command,
            cwd=BASE_DIR,
            env=environment(self.home, PORT=str(self.port), **self.extra),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: Queue[str | None] = Queue()
        self.listener = Thread(target=self._listen)
        self.listener.start()

    def _listen(self) -> None:
        with self.process, self.process.stdout as out:  # type: ignore[union-attr]
            for line in out:
                self.said.append(line)
                self.lines.put(line)
        self.lines.put(None)

    def ready(self) -> "Launcher":
        """Itself, when it serves."""
        return self.heard(f"ready: http://127.0.0.1:{self.port}/")

    def heard(self, sentence: str) -> "Launcher":
        """Itself, when it has said the line."""
        try:
            while line := self.lines.get(timeout=READY):
                if line == f"{sentence}\n":
                    return self
        except Empty:
            pass
        pytest.fail(f"never: {sentence}; it said: {self.said} {logs(self.home)}")

    def status(self, path: str) -> int:
        """What the service answers there."""
        web = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        web.request("GET", path)
        with web.getresponse() as answer:
            answer.read()
            web.close()
            return answer.status

    def end(self, signum: signal.Signals) -> float:
        """Send it the signal; the seconds until it was gone."""
        began = time.monotonic()
        self.process.send_signal(signum)
        self.listener.join(30)
        return time.monotonic() - began


def logs(home: Path) -> dict[str, str]:
    """The ends of the children's logs, for a failure to show."""
    return {log.name: log.read_text()[-1500:] for log in (home / "logs").glob("*.log")}


def processes_of(home: Path) -> list[psutil.Process]:
    """Whatever runs for `home`: by its folder, environment or command line."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [process.cwd(), *process.cmdline()]
            words.append(process.environ().get("FABRICSCOUT_HOME", ""))
            alive = process.status() != psutil.STATUS_ZOMBIE and process.pid != os.getpid()
        except psutil.Error:
            continue
        if alive and any(str(home) in word for word in words):
            found.append(process)
    return found


def kill_all(home: Path) -> None:
    """Kill outright whatever runs for `home`; some go with the first of them."""
    for process in processes_of(home):
        with suppress(psutil.NoSuchProcess):
            process.kill()


def nothing_left(home: Path, seconds: float = 15) -> bool:
    """True once no process and no socket of `home` is left, within the time."""
    deadline = time.monotonic() + seconds
    while processes_of(home) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not processes_of(home) and not sockets(home).exists()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that was served from once and stopped: the slow first start, done once."""
    home = tmp_path_factory.mktemp("made") / "home"
    launcher = Launcher(home).ready()
    assert stops(launcher, signal.SIGTERM)
    return home


@pytest.fixture
def home(made: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it, left with nothing running."""
    copy = tmp_path / "home"
    shutil.copytree(made, copy)
    yield copy
    kill_all(copy)
    shutil.rmtree(sockets(copy), ignore_errors=True)


def add_user(home: Path, name: str) -> None:
    """Something that must still be there later."""
    done = manage(home, "createsuperuser", "--noinput", f"--username={name}", "--email=a@b.example")
    assert done.returncode == 0, done.stderr


def users(home: Path) -> str:
    """Who is in the database."""
    return manage(
        home,
        "shell",
        "-v0",
        "-c",
        "from django.contrib.auth.models import User; print(*User.objects.values_list('username'))",
    ).stdout


def test_it_serves_and_stops_cleanly_and_keeps_its_data(home: Path) -> None:
    launcher = Launcher(home).ready()
    assert [launcher.status(path) for path in ("/", "/healthz", "/readyz")] == [200, 200, 200]
    add_user(home, "ada")
    assert stops(launcher, signal.SIGINT)
    again = under_make(home)
    assert "ada" in users(home)
    assert ends_with_make(again, signal.SIGTERM)


def stops(launcher: Launcher, signum: signal.Signals) -> bool:
    """True when the signal ended it cleanly, in time and with a word."""
    return (
        launcher.end(signum) < 16
        and (launcher.process.returncode, launcher.said[-1]) == (0, "stopped.\n")
        and nothing_left(launcher.home, seconds=1)
    )


def under_make(home: Path) -> Launcher:
    """As `make serve` starts it, whose virtualenv this is not."""
    makefile = home.parent / "Makefile"
    makefile.write_text(f"serve:\n\t@exec {sys.executable} manage.py up\n")
    # Tests in the background of a script are deaf to a SIGINT, and would hand that on.
    make = ("env", "--default-signal=INT", "make", "-f", str(makefile), "serve")
    return Launcher(home, command=make).ready()


def ends_with_make(launcher: Launcher, signum: signal.Signals) -> bool:
    """True when a signal to make alone ended it all.

    make passes SIGTERM on; after a SIGINT it waits for a terminal that told everyone.
    """
    in_time = launcher.end(signum) < 16
    return in_time and nothing_left(launcher.home) and not any("***" in x for x in launcher.said)


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word on a parent's death")
def test_a_killed_launcher_leaves_nothing_running_and_the_next_one_starts(home: Path) -> None:
    launcher = Launcher(home).ready()
    add_user(home, "ada")
    launcher.process.kill()
    again = under_make(home)  # at once: what is left is stopped first
    assert "ada" in users(home)
    assert ends_with_make(again, signal.SIGINT)


def test_everything_killed_at_once_starts_again_with_its_data(home: Path) -> None:
    launcher = Launcher(home).ready()
    add_user(home, "ada")
    kill_all(home)
    launcher.listener.join(30)
    began = time.monotonic()
    again = under_make(home)
    assert time.monotonic() - began < 20
    assert "ada" in users(home)
    assert ends_with_make(again, signal.SIGKILL)


def test_a_first_start_cut_short_is_made_good_by_the_next(tmp_path: Path) -> None:
    """At each of its steps, and each time on what the last one left."""
    for step in ("making the database…", "bringing the tables up to date…",
                 "loading the bundled catalog…"):  # fmt: skip
        launcher = Launcher(tmp_path).heard(step)
        time.sleep(0.4)
        launcher.process.kill()
    again = Launcher(tmp_path).ready()
    again.end(signal.SIGTERM)
    assert nothing_left(tmp_path)


def fell(launcher: Launcher, name: str) -> None:
    """Wait until it has said so, and serves again."""
    deadline = time.monotonic() + READY
    while not any(f"{name} ended by itself" in line for line in launcher.said):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    while status_or_none(launcher, "/readyz") != 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def status_or_none(launcher: Launcher, path: str) -> int | None:
    """The status, or None when nobody answers."""
    try:
        return launcher.status(path)
    except (OSError, http.client.HTTPException):
        return None


def test_what_falls_is_started_again_and_said_unless_postgres_will_not_stay_up(home: Path) -> None:
    launcher = Launcher(home).ready()
    next(p for p in processes_of(home) if "granian" in p.cmdline()).kill()
    fell(launcher, "web")
    next(p for p in processes_of(home) if "valkey" in p.name()).kill()
    fell(launcher, "valkey")
    os.kill(postmaster(home), signal.SIGKILL)
    fell(launcher, "postgres")
    pid = postmaster(home)
    (home / "postgres" / "global" / "pg_control").unlink()
    os.kill(pid, signal.SIGKILL)
    launcher.listener.join(READY)
    assert launcher.process.returncode == 1
    assert launcher.said[-1].startswith("Postgres ended 4 times in a row; it said last: ")
    assert nothing_left(home)


def postmaster(home: Path) -> int:
    """The process id of the embedded Postgres."""
    return int((home / "postgres" / "postmaster.pid").read_text().split()[0])


def refusal(home: Path, **extra: str) -> str:
    """What it says instead of starting: one line on stderr, and no traceback."""
    done = manage(home, "up", **extra)
    assert done.returncode == 1
    assert "Traceback" not in done.stdout + done.stderr
    (sentence,) = done.stderr.splitlines()
    return sentence


def test_a_taken_port_is_refused_with_the_setting_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        sentence = refusal(tmp_path, PORT=port)
    assert f"Port {port}" in sentence
    assert "set PORT" in sentence
    assert nothing_left(tmp_path)


def test_a_port_that_is_none_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "PORT must be a number" in refusal(tmp_path, PORT="²")
    for wrong in ("0", "65536", "http"):
        monkeypatch.setenv("PORT", wrong)
        with pytest.raises(Refused, match="PORT must be a number"):
            chosen_port()


def test_a_home_that_cannot_be_made_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    sentence = refusal(tmp_path / "file" / "home")
    assert "FABRICSCOUT_HOME" in sentence
    assert "Not a directory" in sentence


def test_servers_of_ones_own_that_do_not_answer_are_named(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    assert "DATABASE_URL" in refusal(tmp_path, DATABASE_URL=f"postgresql://a:secret@{nowhere}/a")
    assert "REDIS_URL" in refusal(tmp_path, REDIS_URL=f"redis://{nowhere}/0")
    assert nothing_left(tmp_path)


@pytest.fixture(scope="module")
def served(made: Path) -> Iterator[Launcher]:
    """One that runs, with a Valkey that is not its own."""
    home = made.with_name("served")
    shutil.copytree(made, home)
    launcher = Launcher(home, {"REDIS_URL": os.environ["REDIS_URL"]}).ready()
    yield launcher
    launcher.end(signal.SIGTERM)
    kill_all(home)
    shutil.rmtree(sockets(home), ignore_errors=True)


def test_either_server_may_be_ones_own(served: Launcher) -> None:
    names = {path.name for path in (served.home / "children").iterdir()}
    assert "postgres" in names
    assert "valkey" not in names
    assert running(served.home)["REDIS_URL"] == os.environ["REDIS_URL"]


def test_a_second_launcher_on_a_home_is_refused(served: Launcher) -> None:
    sentence = refusal(served.home, PORT=str(free_port()))
    assert f"already runs on {served.home} (process {served.process.pid})" in sentence
    assert served.status("/healthz") == 200


def test_commands_beside_find_the_service_and_only_while_it_runs(
    served: Launcher, made: Path
) -> None:
    assert manage(served.home, "migrate", "--check").returncode == 0
    other = manage(served.home, "migrate", "--check", DATABASE_URL="postgresql://a@/other")
    assert other.stderr.startswith("REDIS_URL, SECRET_KEY are not set")
    assert running(made) == {}  # which was served, and is not any more
    after = manage(made, "migrate", "--check")
    assert after.returncode == 1
    assert after.stderr.startswith("DATABASE_URL, REDIS_URL, SECRET_KEY are not set")
    assert "make serve" in after.stderr
    assert len(after.stderr.splitlines()) == 1


PRODUCTION = {
    "DATABASE_URL": "postgresql://a:b@db.example:5432/fabricscout",
    "REDIS_URL": "redis://redis.example:6379/0",
    "SECRET_KEY": "a-long-enough-secret-key-of-production-with-many-letters-0123456789",
    "ALLOWED_HOSTS": "fabricscout.example",
}


@pytest.mark.parametrize("name", PRODUCTION)
def test_production_names_the_variable_that_is_missing(tmp_path: Path, name: str) -> None:
    less = {key: value for key, value in PRODUCTION.items() if key != name}
    done = subprocess.run(
        [sys.executable, "-c", "import config.wsgi"],
        cwd=BASE_DIR,
        env=environment(tmp_path, **less),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"{name} is not set")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(("entry", "most"), [("config.wsgi", "5s"), ("config.celery", "60s")])
def test_a_statement_of_a_web_process_is_given_up_sooner(
    tmp_path: Path, entry: str, most: str
) -> None:
    show = "from django.db import connections as all; print(all.settings['default']['OPTIONS'])"
    done = subprocess.run(
        [sys.executable, "-c", f"import {entry}; {show}"],
        cwd=BASE_DIR,
        env=environment(tmp_path, **PRODUCTION),
        capture_output=True,
        text=True,
        check=True,
    )
    assert f"statement_timeout={most} " in done.stdout


def test_production_passes_djangos_own_check(tmp_path: Path) -> None:
    done = manage(tmp_path, "check", "--deploy", "--fail-level", "WARNING", **PRODUCTION)
    assert done.returncode == 0, done.stderr


def test_what_it_keeps_is_its_owners_alone(made: Path) -> None:
    for name in ("", "secret_key", "postgres", "valkey", "logs"):
        assert (made / name).stat().st_mode & 0o077 == 0, name
    assert made != HOME


@pytest.mark.privileged("root", "setpriv")
def test_an_ordinary_user_serves_as_well(tmp_path: Path) -> None:
    """Nobody, who may read what root keeps closed, so that the checkout can be anywhere."""
    right = "+dac_read_search"
    user = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    user += (f"--inh-caps={right}", f"--ambient-caps={right}", "--", sys.executable, "manage.py")
    (tmp_path / "theirs").mkdir()
    os.chown(tmp_path / "theirs", 65534, 65534)
    launcher = Launcher(tmp_path / "theirs", command=(*user, "up")).ready()
    assert launcher.status("/") == 200
    launcher.end(signal.SIGINT)
    assert nothing_left(tmp_path)
    (tmp_path / "roots").mkdir(mode=0o755)
    launcher = Launcher(tmp_path / "roots", command=(*user, "up"))
    launcher.listener.join(READY)
    assert "Permission denied" in launcher.said[-1]
    assert len(launcher.said) == 1
