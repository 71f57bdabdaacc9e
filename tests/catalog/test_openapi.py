"""The OpenAPI schema of a process that was just started."""

import json
import os
import subprocess
import sys

import pytest

ASKED_BY_MANY = """
import sys, threading
import django
django.setup()
from django.urls import get_resolver
from drf_spectacular.settings import spectacular_settings
get_resolver().url_patterns
sys.setswitchinterval(1e-5)
together, made = threading.Barrier(6), []
def ask():
    together.wait()
    generator = spectacular_settings.DEFAULT_GENERATOR_CLASS()
    made.append(generator.get_schema(request=None, public=True))
threads = [threading.Thread(target=ask) for _ in range(6)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(made))
"""


@pytest.mark.django_db
def test_it_is_sent_without_a_space_between_its_words(client):
    answer = client.get("/api/v1/schema/")
    assert answer.content.decode() == json.dumps(
        answer.json(), ensure_ascii=False, separators=(",", ":")
    )


def test_several_who_ask_first_are_all_answered():
    """drf-spectacular loads what it needs at the first call, and not for several at once."""
    nowhere = {"DATABASE_URL": "postgresql:///none", "REDIS_URL": "unix:///none", "HTTPS": "0"}
    settings = {"DJANGO_SETTINGS_MODULE": "config.settings", "SECRET_KEY": "none"}
    answer = subprocess.run(
        [sys.executable, "-c", ASKED_BY_MANY],
        env=os.environ | nowhere | settings,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "6\n", answer.stderr
