"""`/llms.txt`, the service in the form that llmstxt.org describes, and the client's own page.

The doors are those of the API's schema and the words those that are explained, so what is added
stands here as well.
"""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from catalog.api_docs import Door, doors
from learn.words import words

CLIENT = settings.BASE_DIR / "client" / "README.md"
TEXT, MARKDOWN = "text/plain; charset=utf-8", "text/markdown; charset=utf-8"
ABOUT = """\
# FabricScout

> Rentable GPU clusters compared by their interconnect: NVLink domain, fabric, GPUDirect RDMA, the \
price, and what a workload gets for it.

- null is unknown: it is never zero and never "no", and satisfies no filter unless \
`include_unknown` names it. A price of null is not published.
- Every value has its source and date; a price too old to rely on is marked stale. Repeat both.
- Bandwidths are one way and per GPU; a unit is part of its name (`fabric_gbits_per_s_per_gpu`).
- An error is `{"error": {"code", "message", "fields"}}`, and names what a parameter may be.
- Same region is not same fabric: `fabrics/` says what can be had on one network, and how.
"""
PAGES = (
    ("offers", "Offers", "what can be rented, with every filter of the API"),
    ("fabrics", "Fabrics", "which types can be reserved together on one network"),
    ("compare", "Compare", "up to six offers side by side, with the source of every value"),
    ("workloads", "Workloads", "clusters ranked for a training, serving or HPC job"),
    ("providers", "Providers", "where the data come from, and how old they are"),
    ("learn", "Learn", "the words of the field, with live figures"),
    ("values", "How to read a value", "bases, disputes, unknowns"),
    ("accuracy", "Accuracy", "how far off the cost model was, on measured runs"),
)


@require_safe
def llms(request: HttpRequest) -> HttpResponse:
    """Where everything is, a link a line."""
    at = request.build_absolute_uri
    docs = at(reverse("api:docs"))
    text = "\n".join([
        ABOUT,
        "## API",
        _line("Documentation", docs, "every door with its parameters and an example"),
        _line("OpenAPI 3.1", at(reverse("api:schema")), "the same as a schema"),
        *(_line(f"{door.method} {door.path}", at(_shown(door)), door.summary) for door in doors()),
        "\n## Command, Python and MCP",
        _line("Client", at(reverse("client")), "the command `fabricscout`, its exit codes, Python"),
        _line("MCP", at(reverse("client")) + "#mcp", "`fabricscout mcp`: the same as tools"),
        "\n## Pages",
        *(_line(title, at(reverse(name)), says) for name, title, says in PAGES),
        "\n## Words of the field",
        *(
            _line(word.titles["en"], at(reverse("word", args=[word.slug])), word.shorts["en"])
            for word in words().values()
        ),
        "",
    ])  # fmt: skip
    return HttpResponse(text, content_type=TEXT)


def _line(title: str, address: str, says: str) -> str:
    return f"- [{title}]({address}): {says}"


def _shown(door: Door) -> str:
    """An example that anyone may open; of what changes something or is one's own, the words."""
    if door.method == "GET" and door.anonymous and "{" not in door.address:
        return door.address
    return f"{reverse('api:docs')}#{door.anchor}"


@require_safe
def client(_request: HttpRequest) -> HttpResponse:
    """The command, the Python client and the MCP server, in their own README."""
    return HttpResponse(CLIENT.read_bytes(), content_type=MARKDOWN)
