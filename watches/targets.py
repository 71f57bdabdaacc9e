"""Which webhook addresses may be called: https, on the public internet, on a port of https.

An address is judged twice. Here when it is saved, so that its owner learns what is wrong with it;
and by the connection itself (`catalog.connections.Door`) each time that it is called, since a name
may point elsewhere by then. The parser is the sender's own, so both read the same host.

A test lets a receiver answer from loopback by FABRICSCOUT_STAND_INS (catalog.connections).
"""

import os
import re

import httpx
from django.utils.translation import gettext as _

from catalog.addresses import is_public
from catalog.connections import StandIns, looked_up, port, stand_ins_from

LONGEST = 1000  # characters
PORTS = (443, 4443, 8443, 9443, 10443)  # a list of what may be: services of a network are legion
PATIENCE_SECONDS = 0.8  # for the resolver, while a person waits
INSIDE = ("localhost", "local", "internal", "arpa", "onion")  # RFC 6761, 6762, 7686, 9476
# Spellings of an IPv4 address that only some readers take for one: 2130706433, 0x7f.1, 0177.0.0.1.
NUMBER = re.compile(r"(0x[0-9a-f]*|[0-9]+)", re.IGNORECASE)
LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?")
BREAKS = re.compile(r"[\x00-\x20\x7f\\]|%0[0ad]", re.IGNORECASE)


class Refused(Exception):
    """An address that is not called, with the reason in one sentence."""


def stand_ins() -> StandIns:
    """Who answers in the place of others, in tests."""
    return StandIns(stand_ins_from(os.environ))


def read(address: str) -> httpx.URL:
    """The address, as far as can be said without asking anyone.

    Raises
    ------
    Refused
        It must not be called.
    """
    url = _parsed(address)
    if not stand_ins().address(url):
        _check_form(url)
        _check_host(url.raw_host.decode("ascii"))
    return url


def checked(address: str) -> httpx.URL:
    """The address, and every address of its name. Before it is saved.

    A name that nobody can look up just now is let through: it is judged again at each call.

    Raises
    ------
    Refused
        It must not be called.
    """
    url = read(address)
    if not stand_ins().address(url) and not all(map(is_public, _known_addresses(url))):
        raise Refused(_not_public())
    return url


def lane(url: httpx.URL) -> str:
    """Whom a call goes to: nobody is called twice at once."""
    return f"{url.host}:{port(url)}"


def _parsed(address: str) -> httpx.URL:
    if len(address) > LONGEST:
        raise Refused(_("It is longer than %(most)d characters.") % {"most": LONGEST})
    if BREAKS.search(address):
        raise Refused(_("It has a space, a line break or a backslash in it."))
    try:
        url = httpx.URL(address)
        url.host  # noqa: B018 -- read only now: an `xn--` that says nothing, an emoji
    except (httpx.InvalidURL, UnicodeError, ValueError, IndexError):
        raise Refused(_("It is not an address.")) from None
    return url


def _check_form(url: httpx.URL) -> None:
    if url.scheme != "https" or not url.host:
        raise Refused(_("It must begin with https://."))
    if url.userinfo:
        raise Refused(_("A name or a password has no place in it."))
    if url.fragment:
        raise Refused(_("What follows # is never sent."))
    if port(url) not in PORTS:
        ports = ", ".join(map(str, PORTS))
        raise Refused(_("Its port must be one of %(ports)s.") % {"ports": ports})


def _check_host(host: str) -> None:
    """A public name, or a public IP address in its usual spelling."""
    labels = host.removesuffix(".").lower().split(".")
    if ":" in host or NUMBER.fullmatch(labels[-1]):
        inside = not is_public(host)
    elif not all(map(LABEL.fullmatch, labels)):
        raise Refused(_("It is not an address."))
    else:
        inside = len(labels) == 1 or labels[-1] in INSIDE
    if inside:
        raise Refused(_not_public())


def _not_public() -> str:
    return _("It is not on the public internet.")


def _known_addresses(url: httpx.URL) -> list[str]:
    try:
        return looked_up(url.host, port(url), PATIENCE_SECONDS)
    except OSError:
        return []
