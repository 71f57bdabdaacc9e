"""Workers in processes of their own, on the database and the broker of the test that starts them.

`pool()` is a process that forks one child a scrape, in a process group of its own, as Celery's
prefork pool does: a kill of the group takes all that works on the scrape.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlencode

from django.conf import settings
from django.db import connection

ROOT = Path(__file__).parents[2]
POOL = """
import os, sys
import django
django.setup()
from functools import partial
from scrapers import runs
from scrapers.http import Http
runs.Http = partial(Http, pace=0)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.setsid()
        slug, os.environ["FABRICSCOUT_STAND_INS"] = line.split()
        print(os.getpid(), flush=True)
        runs.scrape_due(slug)
        os._exit(0)
    print(os.waitpid(child, 0)[1], flush=True)
"""


def environment(**more: str) -> dict[str, str]:
    """The settings of a process that works on this test's database."""
    own = connection.settings_dict
    query = {"host": own["HOST"]} | ({"port": own["PORT"]} if own["PORT"] else {})
    user = quote(own["USER"]) + (f":{quote(own['PASSWORD'])}" if own["PASSWORD"] else "")
    url = f"postgresql://{user}@/{own['NAME']}?{urlencode(query)}"
    return os.environ | {"DATABASE_URL": url, "PYTHONWARNINGS": "ignore"} | more


@contextmanager
def pool() -> Iterator["subprocess.Popen[str]"]:
    """A pool process; write a slug and its stand-in, read the child's group, then its end."""
    process = subprocess.Popen(
        [sys.executable, "-c", POOL],
        cwd=ROOT,
        env=environment() | {"DJANGO_SETTINGS_MODULE": settings.SETTINGS_MODULE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.communicate()


@contextmanager
def celery(broker: str, **more: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A real worker with one pool process, in a process group of its own."""
    process = subprocess.Popen(
        [sys.executable, "-m", "celery", "-A", "config", "worker", "-c", "1", "-l", "ERROR",
         "--without-gossip", "--without-mingle", "--without-heartbeat"],
        cwd=ROOT,
        env=environment(REDIS_URL=broker, REMAP_SIGTERM="SIGQUIT", **more),
        start_new_session=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
