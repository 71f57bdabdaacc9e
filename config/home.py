"""FABRICSCOUT_HOME, the folder of the one-machine service: who holds it, and what stands in it.

`make serve` keeps all of its state here: the lock that allows one launcher, the secret key, the
servers' data, sockets and logs, and `environment`, the file by which a command typed in another
shell finds the service that runs. Django is not imported: settings read this file.
"""

import fcntl
import hashlib
import os
import re
import secrets
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = Path(os.environ.get("FABRICSCOUT_HOME") or BASE_DIR / ".run").absolute()
DATABASE = "fabricscout"  # the embedded database, and the role that owns it
NEEDED = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY")

_lock: TextIO | None = None  # open as long as this process holds the home


class Refused(SystemExit):
    """What stands in the way, in one sentence. Uncaught, it is printed and the process ends."""


def claim(home: Path = HOME) -> None:
    """Make `home`, hold it against other launchers, and put its addresses in the environment.

    The addresses are known before the servers run, so Django's settings can be read first.
    """
    global _lock
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        _lock = (home / "lock").open("a+")
        _hold(_lock, home)
        os.environ.update(addresses(home) | given() | {"FABRICSCOUT_HOME": str(home)})
    except OSError as error:
        raise Refused(
            f"FABRICSCOUT_HOME, {home}, cannot be used ({error.strerror}): set it to a folder "
            "that you can write."
        ) from None
    os.environ.setdefault("HTTPS", "0")  # one machine, on loopback
    mark("serving")


def _hold(lock: TextIO, home: Path) -> None:
    """Take the lock; wait for a launcher that is on its way out, but not for one that serves."""
    began = time.monotonic()
    while True:
        try:
            return fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            holder, _, state = lock.read().partition(" ")
            patience = 20 if state == "stopping" else 2
            if time.monotonic() - began > patience:
                raise Refused(
                    f"`make serve` already runs on {home} (process {holder or 'unknown'}): stop "
                    "it, or set FABRICSCOUT_HOME to another folder."
                ) from None
            time.sleep(0.1)


def mark(state: str) -> None:
    """Say in the lock that we are `serving` or `stopping`, for the next launcher to read."""
    if _lock:
        _lock.seek(0)
        _lock.truncate()
        _lock.write(f"{os.getpid()} {state}")
        _lock.flush()


def given() -> dict[str, str]:
    """The needed variables that the environment has."""
    return {name: value for name in NEEDED if (value := os.environ.get(name))}


def addresses(home: Path) -> dict[str, str]:
    """Where the embedded servers of `home` listen, and its secret key, made when there is none."""
    here = sockets(home)
    return {
        "DATABASE_URL": f"postgresql://{DATABASE}@/{DATABASE}?host={quote(str(here))}",
        "REDIS_URL": f"unix://{here}/valkey.sock",
        "SECRET_KEY": secret_key(home),
    }


def sockets(home: Path) -> Path:
    """The folder of the servers' sockets: in `home`, or in /tmp where its path will not do.

    A socket's path holds 107 bytes (103 on macOS), and a URL is no place for spaces.
    """
    inside = home / "sockets"
    if len(os.fsencode(inside)) <= 80 and re.fullmatch(r"[\w./-]+", str(inside), re.ASCII):
        return inside
    return Path("/tmp") / f"fabricscout-{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}"  # noqa: S108


def secret_key(home: Path) -> str:
    """The secret key of `home`, readable by its owner alone; kept, so that sessions outlive us."""
    file = home / "secret_key"
    if not file.exists():
        write_private(file, secrets.token_urlsafe(48))
    return file.read_text().strip()


def publish(home: Path) -> None:
    """Write the file by which commands in other shells find the running service."""
    names = (*NEEDED, "HTTPS")
    lines = (f"{name}={os.environ[name]}\n" for name in names if name in os.environ)
    write_private(home / "environment", "".join(lines))


def write_private(file: Path, text: str) -> None:
    """Put `text` in `file`, whole or not at all, mode 0600."""
    draft = file.with_suffix(f".{os.getpid()}")
    with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        out.write(text)
    draft.replace(file)


def running(home: Path = HOME) -> dict[str, str]:
    """The variables of the service that runs on `home`; none when nothing does."""
    try:
        with (home / "lock").open() as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _published(home)
    except OSError:
        pass
    return {}


def _published(home: Path) -> dict[str, str]:
    try:
        lines = (home / "environment").read_text().splitlines()
    except OSError:  # not ready yet, or another user's
        return {}
    return dict(line.split("=", 1) for line in lines)


def service_environment(home: Path = HOME) -> Mapping[str, str]:
    """The environment to run with: our own, or what it lacks from the `make serve` on `home`.

    A variable that is set to something else than that service has means another service: then
    nothing is taken from it, and what is missing is named.
    """
    ours = dict(os.environ)
    if not given().keys() >= set(NEEDED):
        beside = running(home)
        if all(ours.get(name) in {None, "", value} for name, value in beside.items()):
            ours |= beside
    if missing := [name for name in NEEDED if not ours.get(name)]:
        raise Refused(_missing(missing, home))
    return ours


def _missing(names: list[str], home: Path) -> str:
    verb = "is" if len(names) == 1 else "are"
    return (
        f"{', '.join(names)} {verb} not set, and no `make serve` with these settings runs on "
        f"{home}: start one, or set {'it' if len(names) == 1 else 'them'} in the environment "
        "(README, 'Production')."
    )
