"""Where there is no mail server, each mail is a file of its own.

Django names a file by the second and by where its backend lies in memory: two mails of one second
can share one, and be deleted with the account of either reader.
"""

from pathlib import Path
from typing import Any
from uuid import uuid4

from django.core.mail.backends import filebased
from django.utils import timezone


class EmailBackend(filebased.EmailBackend):
    """Django's own, under names that are given once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        name = f"{timezone.now():%Y%m%d-%H%M%S}-{uuid4().hex}.log"
        self._fname = str(Path(self.file_path, name))
