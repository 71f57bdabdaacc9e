"""What granian, or any WSGI server, serves."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

from config.home import Refused

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
if not settings.ALLOWED_HOSTS:
    raise Refused(
        "ALLOWED_HOSTS is not set: name the hosts that the service answers to, with commas "
        "(README, 'Production')."
    )
application = get_wsgi_application()
