"""What people read for a source, and where it leads: a host or a repository, then page or file.

Sources are kept as written: an address, `github:owner/repo@commit:path` (the commit may be absent),
`arXiv:…`, `measurement:…` of a user, `rule: …; what it rests on`, several with a semicolon between,
or words. What is of none of these is shown as it stands.
"""

import re
from functools import lru_cache
from urllib.parse import unquote, urlsplit

from django.utils import translation
from django.utils.translation import gettext

from catalog import phrases

Citation = tuple[str, str]  # what to read, and where it leads, or nowhere

SEVERAL = re.compile(r"\s*[;(]\s*(?=https?://|github:|arXiv:\d)|\s*;\s*(?=measurement:)")
ON_GITHUB = re.compile(r"github:([\w.-]+/[\w.-]+)(?:@([\w./-]+))?(?::(\S*))?", re.ASCII)
PAPER = re.compile(r"(?:https?://arxiv\.org/(?:abs|pdf)/|arXiv:)(\d{4}\.\d{4,5})", re.ASCII)
ENDINGS = re.compile(r"\.(?:html?|mdx?|php|aspx?|jsp|pdf)$", re.IGNORECASE)  # of a page
SHORT_COMMIT = 7
# Names that say nothing without the folder that they stand in.
BARE = re.compile(
    r"(?:readme|index|main|variables|values|vms|latest|stdout|stderr|overview|prices|docs|spec|"
    r"nvidia_smi|nvbandwidth|v?\d+(?:\.\d+)*)(?:\.\w+)?",
    re.IGNORECASE,
)
LONGEST = 90  # signs of a name


def citations(text: str | None) -> tuple[Citation, ...]:
    """Each source of a text, in its order; none of an empty one."""
    return _citations(translation.get_language(), text or "")


@lru_cache(maxsize=4096)
def _citations(_language: str | None, text: str) -> tuple[Citation, ...]:
    parts = (part.strip().rstrip(")") if n else part for n, part in enumerate(SEVERAL.split(text)))
    return tuple(_one(part) for part in parts if part)


def cited(text: str | None) -> Citation:
    """All of them as one name, and the first address there is."""
    found = citations(text)
    names = gettext("; ").join(name for name, _ in found)
    return names, next((href for _, href in found if href), "")


def _one(said: str) -> Citation:
    if said.startswith("measurement:"):
        return gettext("measured by a user"), f"/measurements/{said.removeprefix('measurement:')}/"
    if paper := PAPER.match(said):
        return f"arXiv:{paper[1]}", f"https://arxiv.org/abs/{paper[1]}"
    place, space, note = said.partition(" ")  # "github:… (transcribes …)"
    if found := ON_GITHUB.fullmatch(place):
        name, href = _file(found[1], found[2] or "HEAD", found[3] or "")
        return f"{name}{space}{note}", href
    if place.startswith(("https://", "http://")):
        name, href = _page(place)
        return f"{name}{space}{note}", href
    return phrases.said(said), ""


def _file(repository: str, commit: str, path: str) -> Citation:
    """A file of a repository by the name that it has there."""
    where = f"https://github.com/{repository}"
    if not path:
        return repository, where
    return _named(repository, _tail(path.split("/"))), f"{where}/blob/{commit}/{path}"


def _page(address: str) -> Citation:
    """A page by its host and the words of its address; a file on GitHub by its repository."""
    parts = urlsplit(address)
    host, path = (parts.hostname or "").removeprefix("www."), parts.path.strip("/").split("/")
    if host in {"github.com", "raw.githubusercontent.com"} and len(path) > 1:
        repository, rest = "/".join(path[:2]), path[3:] if path[2:3] == ["blob"] else path[2:]
        return _named(repository, _tail(rest[1:])), address
    pages = [ENDINGS.sub("", unquote(part)) for part in path if part]
    return _named(host, re.sub(r"[-_+ ]+", " ", _tail(pages))), address


def _tail(path: list[str]) -> str:
    """The end of a path: from the last part that says something by itself."""
    telling = (n for n in reversed(range(len(path))) if not BARE.fullmatch(path[n]))
    return "/".join(path[next(telling, 0) :])


def _named(where: str, what: str) -> str:
    name = f"{where}: {what}" if what else where
    return name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
