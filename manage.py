"""Django's front door."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    if sys.argv[1:2] == ["up"]:
        from config.home import claim

        claim()  # the servers that `up` starts are known by address before settings are read
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)
