"""What granian, or any WSGI server, serves."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.home import Refused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# Somebody waits for what is asked here, so a statement is given up sooner than a worker's.
for name, most in (
    ("STATEMENT_TIMEOUT", "5s"),
    ("LOCK_TIMEOUT", "2s"),
    ("IDLE_IN_TRANSACTION_SESSION_TIMEOUT", "30s"),
):
    os.environ.setdefault(f"DATABASE_{name}", most)
if not settings.ALLOWED_HOSTS:
    raise Refused(
        "ALLOWED_HOSTS is not set: name the hosts that the service answers to, with commas "
        "(README, 'Production')."
    )
application = get_wsgi_application()
