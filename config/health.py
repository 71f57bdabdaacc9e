"""`/healthz`: the process answers. `/readyz`: the database, its tables and the broker do too."""

import redis
from django.conf import settings
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


@require_safe
def healthz(_request: HttpRequest) -> JsonResponse:
    """Alive. Asks nothing of anyone else."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(_request: HttpRequest) -> JsonResponse:
    """Ready to serve: 200 when the database answers and is migrated, 503 with the reason if not.

    A missing broker is said but does not make the service unready: reads need no Redis.
    """
    checks = {"database": _database(), "broker": _broker()}
    ready = checks["database"] == "ok"
    return JsonResponse({"ready": ready, **checks}, status=200 if ready else 503)


def _database() -> str:
    try:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
    except DatabaseError:
        return "unreachable"
    return "migrations waiting" if waiting else "ok"


def _broker() -> str:
    try:
        with redis.Redis.from_url(settings.REDIS_URL, socket_timeout=0.5) as client:
            client.ping()
    except redis.RedisError:
        return "unreachable"
    return "ok"
