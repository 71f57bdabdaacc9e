"""Every setting, read top to bottom. Deploys differ by environment variables alone.

`make serve` sets DATABASE_URL, REDIS_URL and SECRET_KEY for its own embedded servers; production
sets them itself, with ALLOWED_HOSTS. README, "Production", has the list.
"""

import os
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from config.home import BASE_DIR, HOME, Refused, service_environment

DEBUG = os.environ.get("DEBUG", "") == "1"


def postgres(url: str) -> dict[str, Any]:
    """Django's database entry for `postgresql://user:password@host:port/name?host=/socket/dir`."""
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise Refused(
            "DATABASE_URL must read postgresql://user:password@host:port/name, or "
            "postgresql://user@/name?host=/socket/directory."
        )
    query = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.path.strip("/"),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.pop("host", parts.hostname or ""),
        "PORT": str(parts.port or query.pop("port", "")),
        "CONN_MAX_AGE": 0,  # the pool keeps them
        "CONN_HEALTH_CHECKS": True,
        "OPTIONS": {
            "connect_timeout": 2,
            # A worker holds one connection a process; a web process, one a thread.
            # No Postgres is a 503 within 3 s (reliability.md 1), not a wait for the default 30.
            "pool": {
                "min_size": 1,
                "max_size": int(os.environ.get("DATABASE_POOL", "8")),
                "timeout": 2,
                # Give up quickly, for then the next request tries anew: a growing wait between
                # attempts would outlast the outage.
                "reconnect_timeout": 1,
            },
            # reliability.md 5: a statement that outlives its reader gives its locks back.
            "options": " ".join(
                f"-c {name}={os.environ.get('DATABASE_' + name.upper(), default)}"
                for name, default in {
                    "statement_timeout": "60s",
                    "lock_timeout": "5s",
                    "idle_in_transaction_session_timeout": "60s",
                    "client_connection_check_interval": "1s",
                }.items()
            ),
            **query,
        },
    }


SERVICE = service_environment()  # ours, or that of the `make serve` beside; refuses what is missing
SECRET_KEY = SERVICE["SECRET_KEY"]
DATABASES = {"default": postgres(SERVICE["DATABASE_URL"])}
# redis://host:6379/0, or unix:///path/to/socket for the embedded server.
REDIS_URL = SERVICE["REDIS_URL"]
# HTTPS is what production speaks; the one-machine service on loopback says HTTPS=0.
HTTPS = SERVICE.get("HTTPS", "1") == "1"
# Production names its own; config/wsgi.py refuses to serve without.
LOOPBACK = "" if HTTPS else "127.0.0.1,localhost,[::1]"
ALLOWED_HOSTS = [host for host in SERVICE.get("ALLOWED_HOSTS", LOOPBACK).split(",") if host]
# What links in mails begin with: never the Host that a request names.
PUBLIC_URL = os.environ.get("PUBLIC_URL", "").rstrip("/") or (
    f"https://{ALLOWED_HOSTS[0].lstrip('.') if ALLOWED_HOSTS else ''}"
    if HTTPS
    else f"http://127.0.0.1:{os.environ.get('PORT') or '8000'}"
)

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "config",
    "scrapers",
    "watches",
    "learn",
    "comparisons",
    "measurements",
    "accounts",
    "catalog",
]
MIDDLEWARE = [
    "config.metrics.counted",
    "config.middleware.security_headers",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "config.middleware.who_may_keep",
    "config.doors.cross_origin_reads",
    "config.doors.RateLimits",
    "config.middleware.bounded_bodies",
    "config.doors.few_at_once",
    "django.middleware.gzip.GZipMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "config.middleware.Unanswerable",
]
ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "accounts.visitor.visitor",
            ],
        },
    },
]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "TIMEOUT": 600,
        "OPTIONS": {"socket_timeout": 0.25, "socket_connect_timeout": 0.25},
    }
}

REST_FRAMEWORK = {
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "catalog.bodies.AsNamed",
    "DEFAULT_PARSER_CLASSES": ["catalog.bodies.StrictJSONParser"],
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.AllowAny"],
    "DEFAULT_THROTTLE_CLASSES": ["accounts.limits.TokenThrottle"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "catalog.replies.error_response",
    "UNAUTHENTICATED_USER": None,
    "URL_FORMAT_OVERRIDE": None,  # `format` is a parameter of ours
}
SPECTACULAR_SETTINGS = {
    "TITLE": "FabricScout API",
    "DESCRIPTION": "GPU instances by how their GPUs are joined, with the source of each fact.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVERS": [],
    "SCHEMA_PATH_PREFIX": r"/api/v1",
    "DEFAULT_GENERATOR_CLASS": "catalog.openapi.OneAtATime",
    "POSTPROCESSING_HOOKS": ["catalog.openapi.finished"],
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("ja", "日本語")]
LOCALE_PATHS = [BASE_DIR / "locale"]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = HOME / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# smtp+starttls://user:password@host:587; smtps speaks TLS from the first byte, smtp never does.
# Without a mail server each mail is a file, and the page that sent it says so.
MAIL = urlsplit(os.environ.get("EMAIL_URL") or "file:///")
MAIL_PORTS = {"file": 0, "smtp": 25, "smtp+starttls": 587, "smtps": 465}
if MAIL.scheme not in MAIL_PORTS or (MAIL.scheme != "file" and not MAIL.hostname):
    raise Refused("EMAIL_URL must read smtp+starttls://user:password@host:587, or smtps://….")
EMAIL_BACKEND = (
    "accounts.mail_files.EmailBackend"
    if MAIL.scheme == "file"
    else "django.core.mail.backends.smtp.EmailBackend"
)
EMAIL_FILE_PATH = HOME / "mail"
EMAIL_HOST = MAIL.hostname or ""
EMAIL_PORT = MAIL.port or MAIL_PORTS[MAIL.scheme]
EMAIL_HOST_USER = unquote(MAIL.username or "")
EMAIL_HOST_PASSWORD = unquote(MAIL.password or "")
EMAIL_USE_TLS = MAIL.scheme == "smtp+starttls"
EMAIL_USE_SSL = MAIL.scheme == "smtps"
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = os.environ.get("EMAIL_FROM") or (
    f"FabricScout <fabricscout@{urlsplit(PUBLIC_URL).hostname}>"
)
SERVER_EMAIL = DEFAULT_FROM_EMAIL

AUTHENTICATION_BACKENDS = ["accounts.backend.Passwords"]
LOGIN_URL, LOGIN_REDIRECT_URL, LOGOUT_REDIRECT_URL = "sign-in", "account", "sign-in"
PASSWORD_RESET_TIMEOUT = 86_400  # [s]
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": f"django.contrib.auth.password_validation.{name}", "OPTIONS": options}
    for name, options in (
        ("UserAttributeSimilarityValidator", {}),
        ("MinimumLengthValidator", {"min_length": 10}),
        ("CommonPasswordValidator", {}),
    )
]
PASSWORD_HASHERS = ["django.contrib.auth.hashers.ScryptPasswordHasher"]
SECURE_SSL_REDIRECT = HTTPS
SECURE_HSTS_SECONDS = 31_536_000 if HTTPS else 0
SECURE_HSTS_INCLUDE_SUBDOMAINS = HTTPS
SECURE_HSTS_PRELOAD = HTTPS
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]  # probes speak plain HTTP
CSRF_FAILURE_VIEW = "config.errors.forbidden"
SESSION_COOKIE_SECURE = HTTPS
CSRF_COOKIE_SECURE = HTTPS
SESSION_COOKIE_HTTPONLY = True
SECURE_REFERRER_POLICY = "same-origin"
TRUST_PROXY = os.environ.get("TRUST_PROXY") == "1"  # it says where a request comes from, and how
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if TRUST_PROXY else None
API_PER_MINUTE_ANONYMOUS = int(os.environ.get("API_PER_MINUTE_ANONYMOUS", "60"))  # by address
API_PER_MINUTE_TOKEN = int(os.environ.get("API_PER_MINUTE_TOKEN", "600"))
METRICS_TOKEN = os.environ.get("METRICS_TOKEN", "")  # that opens /metrics from another machine
DATA_UPLOAD_MAX_MEMORY_SIZE = 1_000_000

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "config.logs.Line",
            "format": "%(asctime)s %(levelname)s %(name)s: %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": os.environ.get("LOG_LEVEL", "WARNING")},
    # Who decided what, in the admin and in the shell: always a line.
    "loggers": {"catalog.audit": {"level": "INFO"}},
}
