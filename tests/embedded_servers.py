"""The pytest plugin that gives a run its servers: a throwaway Postgres and Valkey, gone after it.

Named in pyproject's addopts, since Django's settings are read before any conftest: the servers'
addresses must be in the environment by then. With DATABASE_URL and REDIS_URL set, those are used.
It also decides which tests marked `privileged` can run here, and says what was left out.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from config.embedded import Servers
from config.home import addresses, sockets

# Ends with us, however we end: then it stops what is left of the servers and removes their folder.
GUARD = """
cat
for note in "$1/postgres/postmaster.pid" "$1/valkey/valkey.pid"; do
    pid=$(head -n 1 "$note" 2>/dev/null) && kill -INT "$pid" 2>/dev/null
done
tries=0
while [ $tries -lt 50 ] && [ -e "$1/postgres/postmaster.pid" ]; do
    sleep 0.1
    tries=$((tries + 1))
done
rm -rf "$1" "$2" || { sleep 1; rm -rf "$1" "$2"; }
"""
LEFT_OUT = "needs what this machine or user has not: {}"
HOW = "left out {} tests that need {}: run `.ci/run` as root on Debian, which installs all that."

servers = pytest.StashKey[tuple[Servers, "subprocess.Popen[bytes]"]]()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Start what is not given. The workers of xdist inherit the environment and start nothing."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    wanted = {name: not os.environ.get(name) for name in ("DATABASE_URL", "REDIS_URL")}
    os.environ.setdefault("SECRET_KEY", "of the tests alone")
    os.environ.setdefault("HTTPS", "0")
    os.environ.setdefault("API_PER_MINUTE_ANONYMOUS", "1000000")  # tests ask more than people do
    os.environ.setdefault("API_PER_MINUTE_TOKEN", "1000000")
    if any(wanted.values()):
        pair = Servers(Path(tempfile.mkdtemp(prefix="fabricscout-tests-")), lasting=False)
        early_config.stash[servers] = pair, guard(pair.home)
        pair.start(postgres=wanted["DATABASE_URL"], valkey=wanted["REDIS_URL"])
        own = addresses(pair.home)
        os.environ.update({name: own[name] for name in wanted if wanted[name]})


def guard(home: Path) -> "subprocess.Popen[bytes]":
    """A shell that waits for our end of its pipe to close, as it does even when we are killed."""
    return subprocess.Popen(
        ["sh", "-c", GUARD, "guard", home, sockets(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # out of reach of the terminal's Ctrl-C
    )


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the pair, and wait until the guard has removed its folder."""
    if servers in config.stash:
        pair, watcher = config.stash[servers]
        pair.stop()
        watcher.communicate()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the privileged tests whose needs are not met; under `.ci/run` they must be."""
    if os.environ.get("FABRICSCOUT_PRIVILEGED") == "1":
        return
    for item in items:
        for mark in item.iter_markers("privileged"):
            if lacking := [need for need in mark.args or ("root", "chromium") if not has(need)]:
                item.add_marker(pytest.mark.skip(reason=LEFT_OUT.format(", ".join(lacking))))


def has(need: str) -> bool:
    """True when we are root, or the program is installed."""
    return os.geteuid() == 0 if need == "root" else shutil.which(need) is not None


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One sentence on the privileged tests that were left out."""
    start = LEFT_OUT.format("")
    reasons = [str(report.longrepr[2]) for report in terminalreporter.stats.get("skipped", [])]
    needs = [reason.split(start)[1] for reason in reasons if start in reason]
    if needs:
        named = sorted({need for line in needs for need in line.split(", ")})
        terminalreporter.write_line(HOW.format(len(needs), " and ".join(named)))
