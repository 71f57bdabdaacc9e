"""What every test stands on: the settings of production, but for where style sheets lie."""

import os
from itertools import islice

import pytest
from hypothesis import settings

# The same examples in every run, so that a red run means a change; others are looked for with
# `make test ARGS=--hypothesis-profile=default`.
settings.register_profile("same", derandomize=True)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """Style sheets under their plain names: nothing needs to be collected before a test."""
    if config.pluginmanager.hasplugin("django"):
        from django.conf import settings

        plain = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
        settings.STORAGES = {**settings.STORAGES, "staticfiles": plain}
        settings.WHITENOISE_AUTOREFRESH = True  # it looks for no folder of collected files


# What takes minutes or stands on a service that is started once for its folder, by worker.
LONG = (("tests/e2e/",), ("tests/config/test_up.py", "tests/client/"))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long tests first, each kind on a worker of its own: one that starts last is waited for.

    xdist gives each worker so many in a row; what waits at its end goes to whoever has done its
    own. So the end is made of short ones, and no two workers start the same service.
    """
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    long = [[item for item in items if item.nodeid.startswith(kind)] for kind in LONG]
    apart = {item for kind in long for item in kind}
    short = iter([item for item in items if item not in apart])
    ordered: list[pytest.Item] = []
    for worker in range(workers):
        for kind in long[worker::workers]:
            ordered += kind
        ends = len(items) * (worker + 1) // workers
        ordered += islice(short, max(0, ends - len(ordered)))
    items[:] = [*ordered, *short]


@pytest.fixture(autouse=True)
def _english(request: pytest.FixtureRequest) -> None:
    """A test that reads a page in Japanese leaves the next one its English."""
    if request.config.pluginmanager.hasplugin("django"):
        from django.utils import translation

        translation.deactivate()


@pytest.fixture(autouse=True)
def _nothing_remembered(request: pytest.FixtureRequest) -> None:
    """Each test has a catalog of its own, whose version may be the number of another's."""
    if "django_db_setup" in request.fixturenames:
        from catalog import page_money, pages, presets
        from catalog.templatetags import frame

        frame.standing.cache_clear()
        page_money.codes.cache_clear()
        pages.standing.cache_clear()
        presets.tab_counts.cache_clear()
