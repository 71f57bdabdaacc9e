"""The Celery app. Redis carries only wake-ups: what is due, who has it and how often it was tried
stands in Postgres (`scrapers.leases`), so a queue that is lost, doubled or late changes nothing.

The reason of each setting is a measurement. Workers are started with REMAP_SIGTERM=SIGQUIT, so
that a stop puts the message back at once instead of waiting for the task.
"""

import os

from celery import Celery
from django.conf import settings
from kombu.entity import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def broker(url: str) -> str:
    """The broker's address in kombu's words, where a Unix socket is `redis+socket:///path`."""
    scheme, _, rest = url.partition("://")
    return f"redis+socket://{rest.replace('?db=', '?virtual_host=')}" if scheme == "unix" else url


app = Celery("fabricscout", broker=broker(settings.REDIS_URL), set_as_current=True)
app.conf.update(
    imports=["catalog.tasks", "scrapers.tasks", "watches.tasks"],
    # A worker serves both; one that is told `-Q watches` is free for messages while others scrape.
    task_queues=[Queue(name) for name in ("scrapers", "watches")],  # type: ignore[no-untyped-call]
    task_default_queue="scrapers",
    task_routes={"watches.tick": "watches", "watches.deliver": "watches"},
    timezone="UTC",
    task_acks_late=True,  # an early ack and a kill -9 lost the task for good
    task_reject_on_worker_lost=False,  # True: a poison task loops for ever; the tick counts tries
    task_retry_on_worker_lost=False,
    worker_cancel_long_running_tasks_on_connection_loss=False,  # True killed a running scrape
    worker_prefetch_multiplier=1,
    task_time_limit=600,
    task_soft_time_limit=540,
    worker_soft_shutdown_timeout=float(os.environ.get("WORKER_SOFT_SHUTDOWN_S", "10")),
    worker_max_tasks_per_child=200,
    worker_max_memory_per_child=400_000,  # [kB]
    task_ignore_result=True,  # outcomes live in Postgres; there is no result backend
    task_publish_retry_policy={
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.2,
        "interval_max": 0.2,
    },
    broker_connection_retry_on_startup=True,
    broker_connection_max_retries=None,  # the default, 100: the worker then gives up for good
    broker_transport_options={
        "visibility_timeout": 900,  # above the time limit: longer tasks would run twice
        "unacked_restore_interval": 15,
        "unacked_restore_throttle": 1,
        "unacked_mutex_expire": 30,  # a worker killed in the sweep blocks it that long, not 5 min
        "socket_timeout": 5,
        "socket_connect_timeout": 2,
        "socket_keepalive": True,
        "health_check_interval": 10,
    },
    beat_schedule={
        "tick": {"task": "scrapers.tick", "schedule": 15.0, "options": {"expires": 30}},
        "watches": {"task": "watches.tick", "schedule": 15.0, "options": {"expires": 30}},
        "warm": {"task": "catalog.warm", "schedule": 300.0, "options": {"expires": 300}},
        "rates": {
            "task": "scrapers.refresh_rates",
            "schedule": 300.0,  # whether they are due stands in Postgres
            "options": {"expires": 300},
        },
        "watches-retain": {
            "task": "watches.forget",
            "schedule": 3600.0,
            "options": {"expires": 3600},
        },
        "retain": {"task": "scrapers.retain", "schedule": 3600.0, "options": {"expires": 3600}},
    },
)
