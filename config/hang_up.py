"""Hanging up on whoever keeps us waiting: granian reads a body for as long as it takes to come.

No thread can give up that read (granian takes the body back, under the GIL, once the request is
answered); it ends with the connection alone. Which connection is whose, granian does not say, so
each is ended that was sent nothing for as long: such a one waits too, or rests between two
requests, when it may be closed at any time. Needs Linux.
"""

import os
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

INFO_BYTES, LAST_SENT = 104, 44  # `struct tcp_info` of linux/tcp.h, and where it has it [ms]


def on_unanswered(port: int, for_s: float) -> None:
    """End what comes in from every connection to this port that was sent nothing for so long."""
    for connection in _sockets():
        with suppress(OSError), connection:  # it listens, is of another kind, or ended meanwhile
            if connection.getsockname()[1] != port or not connection.getpeername():
                continue
            told = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, INFO_BYTES)
            if struct.unpack_from("=I", told, LAST_SENT)[0] >= 1000 * for_s:
                connection.shutdown(socket.SHUT_RD)  # what is to be said still can be


def _sockets() -> Iterator[socket.socket]:
    """Those of TCP that this process has open, each under a number of its own."""
    with suppress(FileNotFoundError):
        for each in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                if stat.S_ISSOCK(os.fstat(int(each.name)).st_mode):
                    found = socket.socket(fileno=os.dup(int(each.name)))
                    if found.family in (socket.AF_INET, socket.AF_INET6):
                        yield found
                    else:
                        found.close()
