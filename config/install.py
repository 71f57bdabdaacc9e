"""What `make` runs first: a virtualenv that holds exactly what a lock names.

    python3 -I config/install.py .venv requirements.txt

Runs on whatever Python 3 is there, before anything is installed: the standard library alone, and
no syntax newer than 3.6, so that an old Python can say that it is too old. The stamp in the
virtualenv is written last: an interrupted install never looks finished.
"""

import fcntl
import hashlib
import shlex
import subprocess
import sys
from pathlib import Path

FLOOR = (3, 11)
CLIENT = Path(__file__).resolve().parents[1] / "client"
ALSO = {"requirements-dev.txt": "requirements.txt"}  # the development lock holds the other one


def main(venv: Path, lock: Path) -> None:
    """Make `venv` hold what `lock` names, unless it does already, and this checkout's command."""
    refuse_unfit_python()
    try:
        if stamp(venv, lock) not in stamps(venv):
            with venv.with_name(f"{venv.name}.lock").open("w") as gate:
                fcntl.flock(gate, fcntl.LOCK_EX)  # another make in this folder may be at it
                if stamp(venv, lock) not in stamps(venv):
                    install(venv, lock)
        offer_command(venv)
    except OSError as error:
        sys.exit(f"{error.filename or venv} cannot be written ({error.strerror}).")


def refuse_unfit_python() -> None:
    """Python 3.11 or newer, with the venv module, which Debian has in a package of its own."""
    if sys.version_info < FLOOR:
        found = sys.version.split()[0]
        sys.exit(
            f"FabricScout needs Python 3.11 or newer, and {sys.executable} is {found}: name a "
            "newer one, as in `make serve PYTHON=/path/to/python3.11`."
        )
    try:
        import ensurepip  # noqa: F401, PLC0415
        import venv  # noqa: F401, PLC0415
    except ImportError:
        sys.exit(
            f"{sys.executable} cannot make a virtualenv, since its venv module is missing: on "
            "Debian or Ubuntu, run `apt install python3-venv`."
        )


def install(venv: Path, lock: Path) -> None:
    """Make the virtualenv anew, or add to one that is finished and of the same locks."""
    before = stamps(venv)
    if before and all(line == stamp(venv, Path(line.split()[0])) for line in before):
        (venv / "installed").unlink()
    else:
        before = []
        say(f"making a virtualenv in {venv.name}…")
        run("making the virtualenv", [sys.executable, "-m", "venv", "--clear", str(venv)])
    say(f"installing {lock.read_text().count('==')} packages (about half a minute)…")
    pip = [str(venv / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
    run("installing", [*pip, "install", "-qq", "--require-hashes", "-r", str(lock)])
    done = [lock.name, ALSO.get(lock.name, lock.name)]
    lines = {*before, *(stamp(venv, lock.with_name(name)) for name in done)}
    (venv / "installed").write_text("".join(sorted(lines)))


def offer_command(venv: Path) -> None:
    """`bin/fabricscout`: the client of this checkout as it stands; nothing is built or copied.

    With -P, no module of the folder that one stands in is run in place of ours.
    """
    (packages,) = venv.glob("lib/python*/site-packages")
    python = shlex.quote(str(venv / "bin" / "python"))
    put(packages / "fabricscout.pth", f"{CLIENT}\n")
    put(venv / "bin" / "fabricscout", f'#!/bin/sh\nexec {python} -P -m fabricscout "$@"\n')


def put(file: Path, text: str) -> None:
    """Write a file that can be run, unless it is there: a service may be running from it."""
    if not file.exists() or file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
        file.chmod(0o755)


def stamp(venv: Path, lock: Path) -> str:
    """What a finished install of `lock` is known by: its bytes, the Python, the place."""
    digest = hashlib.sha256(lock.read_bytes()).hexdigest() if lock.exists() else "none"
    return f"{lock.name} {digest} {sys.version.split()[0]} {venv.resolve()}\n"


def stamps(venv: Path) -> list:  # type: ignore[type-arg]  # list[str] is younger than 3.6
    """What was installed here, a line each."""
    file = venv / "installed"
    return file.read_text().splitlines(keepends=True) if file.exists() else []


def run(step: str, command: list) -> None:  # type: ignore[type-arg]
    """Run a step; its own words are the explanation where it fails."""
    code = subprocess.call(command)
    if code:
        sys.exit(f"{step} failed (exit code {code}): the reason stands above.")


def say(words: str) -> None:
    """A line of progress."""
    print(words, flush=True)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]).absolute(), Path(sys.argv[2]))
    except KeyboardInterrupt:
        sys.exit("\nInterrupted: the next run begins the installation again.")
