"""Reading a stranger's web page: elements and their text, by the standard library's parser.

A page is no contract and may be laid out anew any day: a provider reads the layout it knows, by
its class names, and says `Unreadable` where that is not what it finds.
"""

from dataclasses import dataclass, field
from html.parser import HTMLParser

from scrapers.fields import TEXT, BadField, Unreadable, visible

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
SILENT = {"script", "style", "template", "noscript", "svg"}
DEEPEST = 500
MOST = 200_000  # elements


@dataclass(slots=True)
class Element:
    """One element: its name, classes, and what is inside, in order."""

    tag: str
    classes: frozenset[str] = frozenset()
    inside: list["Element | str"] = field(default_factory=list)

    def all(self, name: str) -> list["Element"]:
        """Elements below with this class, or of this tag: ".price", "h4"; not one in another."""
        found: list[Element] = []
        below = [item for item in reversed(self.inside) if isinstance(item, Element)]
        while below:
            element = below.pop()
            if name[1:] in element.classes if name.startswith(".") else name == element.tag:
                found.append(element)
            else:
                below.extend(i for i in reversed(element.inside) if isinstance(i, Element))
        return found

    def text(self) -> str:
        """What is to be read, its spaces single; a superscript is written 4^1."""
        pieces: list[str] = []
        rest: list[Element | str] = [self]
        while rest:
            item = rest.pop()
            if isinstance(item, str):
                pieces.append(item)
            elif item.tag not in SILENT:
                pieces.append("^" if item.tag == "sup" else "" if item.tag in INLINE else " ")
                rest.extend(reversed(item.inside))
        return visible("".join(pieces))[:TEXT]


INLINE = {"a", "b", "em", "i", "span", "strong", "sub", "u"}


def read_page(body: bytes) -> Element:
    """The whole page.

    Raises
    ------
    Unreadable
        It is no HTML, not UTF-8, cut short, or grows beyond measure.
    """
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Unreadable("the page is not UTF-8") from None
    if not text.lstrip().startswith("<"):
        raise Unreadable("the answer is no page of HTML")
    if "<html" in text[:2000].lower() and "</html" not in text[-2000:].lower():
        raise Unreadable("the page is cut short")
    reader = _Reader()
    reader.feed(text.replace("\x00", ""))
    reader.close()
    return reader.page


class _Reader(HTMLParser):
    """Builds the elements; an end tag closes all that it encloses, one without a start nothing."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.page = Element("page")
        self._open = [self.page]
        self._count = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._count += 1
        if self._count > MOST or len(self._open) > DEEPEST:
            raise Unreadable("the page grows beyond measure")
        classes = next((value or "" for name, value in attrs if name == "class"), "")
        element = Element(tag, frozenset(classes.split()))
        self._open[-1].inside.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        for depth in range(len(self._open) - 1, 0, -1):
            if self._open[depth].tag == tag:
                del self._open[depth:]
                return

    def handle_data(self, data: str) -> None:
        self._open[-1].inside.append(data)


def the(elements: list[Element], what: str, where: str) -> Element:
    """The only element of a list."""
    if len(elements) != 1:
        raise BadField(where, f"{len(elements)} times {what}, where one was")
    return elements[0]
