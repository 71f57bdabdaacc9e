"""The embedded servers alone: what they promise, and the traps on their way."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from config import embedded
from config.children import Child, stop_leftovers
from config.embedded import Servers
from config.home import BASE_DIR, Refused, addresses, sockets


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Path]:
    """A home of its own, whose servers are stopped whatever happens."""
    yield tmp_path
    stop_leftovers(tmp_path)


def ask(home: Path, query: str) -> object:
    """The first value that the embedded database answers."""
    with psycopg.connect(addresses(home)["DATABASE_URL"], autocommit=True) as connection:
        answer = connection.execute(query)
        return answer.fetchone()[0] if answer.description else None


def valkey(home: Path) -> redis.Redis:
    """A client of the embedded Valkey."""
    return redis.Redis.from_url(addresses(home)["REDIS_URL"], decode_responses=True)


def processes_of(home: Path) -> list[psutil.Process]:
    """Whatever runs with `home` in its command line."""
    return [
        process
        for process in psutil.process_iter(["cmdline", "status"])
        if any(str(home) in word for word in process.info["cmdline"] or ())
        and process.info["status"] != psutil.STATUS_ZOMBIE
    ]


def gone(home: Path, seconds: float = 10) -> bool:
    """True once nothing of `home` runs, within the time."""
    deadline = time.monotonic() + seconds
    while processes_of(home):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def abandoned_servers(home: Path, guarded: bool) -> None:
    """Servers whose launcher was killed; unguarded, as on macOS, they outlive it."""
    program = f"""
        import os, signal
        from pathlib import Path
        from config import children, embedded
        if not {guarded}:
            children.dies_with_us = lambda stop: []
        servers = embedded.Servers(Path({str(home)!r}))
        servers.start()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program)], cwd=BASE_DIR, check=False)


def test_the_pair_keeps_what_it_was_told(home: Path) -> None:
    servers = Servers(home)
    servers.start()
    ask(home, "create table kept as select 7 as number")
    valkey(home).set("kept", "7")
    servers.stop()
    assert gone(home)
    assert not sockets(home).exists()
    servers.start()
    assert ask(home, "select number from kept") == 7
    assert valkey(home).get("kept") == "7"
    servers.stop()


def test_it_is_made_to_last_and_listens_nowhere_but_on_its_socket(home: Path) -> None:
    servers = Servers(home)
    servers.start()
    for setting in ("fsync", "synchronous_commit", "full_page_writes"):
        assert ask(home, f"show {setting}") == "on"
    assert ask(home, "show listen_addresses") == ""
    config = valkey(home).config_get()
    assert (config["appendonly"], config["appendfsync"]) == ("yes", "everysec")
    assert (config["maxmemory-policy"], config["port"]) == ("noeviction", "0")
    assert int(config["maxmemory"]) > 0
    assert sockets(home).stat().st_mode & 0o777 == 0o700
    listening = [c for p in processes_of(home) for c in p.net_connections("inet")]
    servers.stop()
    assert listening == []


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's word on a parent's death")
def test_servers_end_when_their_launcher_is_killed(home: Path) -> None:
    abandoned_servers(home, guarded=True)
    assert gone(home)


def test_what_a_killed_launcher_left_is_stopped_and_loses_nothing(home: Path) -> None:
    abandoned_servers(home, guarded=False)
    ask(home, "create table kept as select 7 as number")
    assert stop_leftovers(home) == ["postgres", "valkey"]
    assert gone(home, seconds=1)
    servers = Servers(home)
    servers.start()
    assert ask(home, "select number from kept") == 7
    servers.stop()


def test_a_postmaster_that_no_record_names_is_stopped_too(home: Path) -> None:
    abandoned_servers(home, guarded=False)
    (home / "children" / "postgres").unlink()
    left = next(p for p in processes_of(home) if p.name() == "postgres")
    stop_leftovers(home)
    servers = Servers(home)
    servers.start(valkey=False)
    assert not left.is_running() or left.status() == psutil.STATUS_ZOMBIE
    servers.stop()


def test_committed_rows_outlive_a_kill_of_every_server(home: Path) -> None:
    servers = Servers(home)
    servers.start()
    ask(home, "create table kept as select generate_series(1, 10000) as number")
    for server in servers.running.values():
        server.process.kill()  # type: ignore[union-attr]
        server.process.wait()  # type: ignore[union-attr]
    servers = Servers(home)
    servers.start()
    assert ask(home, "select count(*) from kept") == 10000
    servers.stop()


def test_a_session_at_work_does_not_outlive_its_postmaster(home: Path) -> None:
    """Busy, it would not notice for minutes, and no Postgres could start beside it."""
    servers = Servers(home)
    servers.start(valkey=False)
    busy = "select sum(sqrt(a * b)) from generate_series(1, 20000) a, generate_series(1, 20000) b"
    with Busy(home, busy) as session:
        servers.running["postgres"].process.kill()  # type: ignore[union-attr]
        servers.running["postgres"].process.wait()  # type: ignore[union-attr]
        assert psutil.pid_exists(session)
        servers.start(valkey=False)
        assert ask(home, "select 1") == 1
        servers.stop()


class Busy:
    """A session that computes; its process id."""

    def __init__(self, home: Path, query: str) -> None:
        self.connection = psycopg.connect(addresses(home)["DATABASE_URL"])
        self.query = query

    def __enter__(self) -> int:
        pid = self.connection.info.backend_pid
        self.connection.pgconn.send_query(self.query.encode())
        self.connection.pgconn.flush()
        time.sleep(0.3)
        return pid

    def __exit__(self, *_: object) -> None:
        self.connection.close()


def test_a_stale_pid_file_that_names_a_stranger_is_no_obstacle(home: Path) -> None:
    servers = Servers(home)
    servers.start(valkey=False)
    pid_file = home / "postgres" / "postmaster.pid"
    as_it_was = pid_file.read_text()
    servers.stop()
    with subprocess.Popen(["sleep", "600"]) as stranger:
        pid_file.write_text(as_it_was.replace(as_it_was.split()[0], str(stranger.pid), 1))
        record = Child("postgres", [], home).record
        record.write_text(f"[{stranger.pid}, 1.0, {signal.SIGTERM.value}]")
        assert stop_leftovers(home) == []
        servers.start(valkey=False)
        assert ask(home, "select 1") == 1
        assert stranger.poll() is None
        servers.stop()
        stranger.kill()


def test_an_initdb_cut_short_is_begun_again(home: Path) -> None:
    half = home / "postgres.new"
    half.mkdir()
    (half / "PG_VERSION").write_text("18\n")
    servers = Servers(home)
    servers.start(valkey=False)
    assert ask(home, "select 1") == 1
    servers.stop()
    assert not half.exists()


def test_a_path_too_long_for_a_socket_gets_a_short_one(home: Path) -> None:
    deep = home / ("with a space " + "x" * 120)
    deep.mkdir()
    servers = Servers(deep)
    servers.start()
    assert ask(deep, "select 1") == 1
    assert valkey(deep).ping()
    assert sockets(deep).stat().st_mode & 0o777 == 0o700
    servers.stop()
    assert not sockets(deep).exists()
    assert gone(deep)


def test_a_short_path_that_someone_else_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = tmp_path / "sockets"
    trap.symlink_to("/etc")
    monkeypatch.setattr(embedded, "sockets", lambda _home: trap)
    with pytest.raises(Refused, match="belongs to another user"):
        Servers(tmp_path).start()
    assert Path("/etc/passwd").exists()


def test_data_of_another_major_version_is_refused_in_one_sentence(home: Path) -> None:
    data = home / "postgres"
    data.mkdir()
    (data / "PG_VERSION").write_text("12\n")
    with pytest.raises(Refused, match=r"made by Postgres 12.*PG_BIN"):
        Servers(home).start(valkey=False)


def test_a_data_folder_that_cannot_start_says_why_and_where_to_read(home: Path) -> None:
    servers = Servers(home)
    servers.start(valkey=False)
    servers.stop()
    (home / "postgres" / "global" / "pg_control").unlink()
    with pytest.raises(Refused, match=r"Postgres did not start; .*pg_control.*postgres\.log"):
        servers.start(valkey=False)
    servers.stop()


def test_the_programs_are_looked_for_where_the_variables_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    with pytest.raises(Refused, match="No Postgres is found: set PG_BIN"):
        embedded.postgres_programs()
    monkeypatch.setenv("REDIS_BIN", str(tmp_path / "none"))
    with pytest.raises(Refused, match="No Valkey or Redis is found: set REDIS_BIN"):
        embedded.valkey_program()


@pytest.mark.privileged("root")
def test_root_without_user_namespaces_runs_postgres_as_nobody(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that nobody may enter; and what one way made, the other way can use."""
    closed = home / "closed"
    closed.mkdir(mode=0o700)
    servers = Servers(closed)
    servers.start(valkey=False)
    ask(closed, "create table kept as select 7 as number")
    servers.stop()
    embedded.unprivileged.cache_clear()
    real = subprocess.run

    def without_namespaces(command: list[str], **options: object) -> object:
        return real(["false"] if command[0] == "unshare" else command, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(subprocess, "run", without_namespaces)
    servers.start(valkey=False)
    owner = psutil.Process(servers.running["postgres"].process.pid).uids().effective  # type: ignore[union-attr]
    assert owner == 65534
    assert ask(closed, "select number from kept") == 7
    servers.stop()
    monkeypatch.undo()
    embedded.unprivileged.cache_clear()
    servers.start(valkey=False)
    assert ask(closed, "select number from kept") == 7
    servers.stop()


DEBIANS = Path("/usr/lib/postgresql/15/bin")


@pytest.mark.skipif(not DEBIANS.exists(), reason="Debian's postgresql is not installed")
def test_debians_postgres_serves_as_well(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", str(DEBIANS))
    servers = Servers(home)
    servers.start(valkey=False)
    assert str(ask(home, "show server_version")).startswith("15.")
    servers.stop()


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT])
def test_the_servers_of_a_test_run_are_gone_with_it(tmp_path: Path, ending: signal.Signals) -> None:
    """The plugin's own promise, kept also when pytest is killed outright."""
    test = tmp_path / "test_waits.py"
    test.write_text(
        "import time\ndef test_waits():\n    print('here', flush=True); time.sleep(60)\n"
    )
    outside = ("DATABASE_URL", "REDIS_URL", "PYTEST_XDIST_WORKER")
    environment = {name: value for name, value in os.environ.items() if name not in outside}
    temporary = tmp_path / "t"
    temporary.mkdir()
    command = [sys.executable, "-m", "pytest", "-p", "tests.embedded_servers", "-n0", "-s"]
    run = subprocess.Popen(
        [*command, "-o", "addopts=", "-c", os.devnull, "--rootdir", tmp_path, test],
        env=environment | {"TMPDIR": str(temporary)},
        cwd=BASE_DIR,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with run:
        assert any(b"here" in line for line in run.stdout or ())
        assert processes_of(temporary)
        run.send_signal(ending)
    assert gone(temporary)
    deadline = time.monotonic() + 10
    while list(temporary.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(temporary.iterdir()) == []
