"""A program of ours: started in a session of its own, its log kept, stopped with all its kin.

Who is running stands in `children/<name>` under the home as process id and birth time: after a
launcher was killed outright, the next one finds what it left and never takes a stranger for it.
On Linux the kernel ends the orphans already (`setpriv --pdeathsig`); macOS has no such thing.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from config.home import BASE_DIR

STEADY = 60  # [s] of life after which an end is not held against it
LOG_BYTES = 5_000_000  # a longer log is put aside at the next start


@dataclass
class Child:
    """One program under the launcher."""

    name: str
    command: list[str]
    home: Path
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    stop_signal: signal.Signals = signal.SIGTERM
    before: list[str] = field(default_factory=list)  # what it runs under: unshare, nice
    process: subprocess.Popen[bytes] | None = None
    started: float = 0.0
    falls: int = 0
    restart_at: float = 0.0

    @property
    def log(self) -> Path:
        """Where it writes."""
        return self.home / "logs" / f"{self.name}.log"

    @property
    def record(self) -> Path:
        """Where we note who it is."""
        return self.home / "children" / self.name

    @property
    def alive(self) -> bool:
        """It was started and has not ended."""
        return self.process is not None and self.process.poll() is None

    def start(self) -> None:
        """Start it, deaf to the terminal's Ctrl-C: we stop it ourselves, in order."""
        for folder in (self.log.parent, self.record.parent):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > LOG_BYTES:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.before, *dies_with_us(self.stop_signal), *self.command],
                cwd=BASE_DIR,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started, self.restart_at = time.monotonic(), 0.0
        self._note(self.process.pid)

    def _note(self, pid: int) -> None:
        with suppress(psutil.NoSuchProcess):  # gone already: nobody to find later
            born = psutil.Process(pid).create_time()
            self.record.write_text(json.dumps([pid, born, self.stop_signal]))

    def fall(self) -> int:
        """Clear up after it ended by itself; the seconds to wait until it is started again."""
        self.end()
        lived = time.monotonic() - self.started
        self.falls = self.falls + 1 if lived < STEADY else 1
        wait = min(1 << (self.falls - 1), 30)
        self.restart_at = time.monotonic() + wait
        return wait

    def ask(self) -> None:
        """Ask it to stop, and do not wait."""
        if self.process and self.alive:
            self.process.send_signal(self.stop_signal)

    def end(self) -> None:
        """End it, and whatever it left in its session."""
        if self.process:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.record.unlink(missing_ok=True)

    def last_words(self) -> str:
        """The last line of its log, and where to read on."""
        lines = self.log.read_text(errors="replace").split("\n") if self.log.exists() else []
        said = next((line.strip() for line in reversed(lines) if line.strip()), "nothing")
        return f"it said last: {said} (see {self.log})"


def dies_with_us(stop: signal.Signals) -> list[str]:
    """What to start a program with so that the kernel stops it when the launcher is killed."""
    if sys.platform != "linux" or not shutil.which("setpriv"):
        return []
    return ["setpriv", "--pdeathsig", stop.name.removeprefix("SIG"), "--"]


def stop_all(children: Iterable[Child], seconds: float) -> None:
    """Ask each in turn, wait for all together, then end those that are left."""
    children = list(children)
    for child in children:
        child.ask()
    deadline = time.monotonic() + seconds
    while any(child.alive for child in children) and time.monotonic() < deadline:
        time.sleep(0.05)
    for child in children:
        child.end()


def stop_leftovers(home: Path) -> list[str]:
    """Stop what a killed launcher left running on `home`; the names of those that were."""
    left = {}
    for record in sorted((home / "children").glob("*")):
        if found := _left_by(record):
            left[record.name] = found
    wait_until_ended(left.values(), seconds=8)
    for process in left.values():
        if not ended(process):
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    wait_until_ended(left.values(), seconds=2)
    for record in (home / "children").glob("*"):
        record.unlink(missing_ok=True)
    return list(left)


def _left_by(record: Path) -> psutil.Process | None:
    """The process that `record` names, asked to stop; None when it is gone or is a stranger."""
    with suppress(ValueError, OSError, psutil.Error):
        pid, born, stop = json.loads(record.read_text())
        process = psutil.Process(pid)
        # A process id is used again; with its birth it is not.
        if abs(process.create_time() - born) < 2 and not ended(process):
            process.send_signal(stop)
            return process
    return None


def wait_until_ended(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Return when all have ended, or the time is up."""
    processes = list(processes)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and not all(ended(process) for process in processes):
        time.sleep(0.05)


def ended(process: psutil.Process) -> bool:
    """Gone, or dead and not yet buried by its parent."""
    try:
        return not process.is_running() or bool(process.status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True
