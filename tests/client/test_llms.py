"""`/llms.txt`: where everything is, for a language model; every link answers."""

import re
from functools import cache
from urllib.parse import unquote

import httpx
import pytest

from fabricscout.commands import COMMANDS


@pytest.fixture(scope="module")
def text(service: str) -> str:
    answer = httpx.get(f"{service}/llms.txt")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    return answer.text


def links(text: str) -> dict[str, str]:
    return dict(re.findall(r"^- \[(.+?)\]\((\S+?)\): .", text, re.MULTILINE))


def test_it_has_the_form_of_an_llms_txt(text):
    title, _, about = text.split("\n")[:3]
    assert title.startswith("# ")
    assert about.startswith("> ")
    sections = re.findall(r"^## (.+)", text, re.MULTILINE)
    assert sections == ["API", "Command, Python and MCP", "Pages", "Words of the field"]


def test_every_link_answers_and_leads_to_a_place_of_the_page(text, service):
    found = links(text)
    assert len(found) > 15
    with httpx.Client() as web:
        open_page = cache(web.get)
        for title, address in found.items():
            page, _, place = unquote(address).partition("#")
            assert page.startswith(service)
            answer = open_page(page)
            assert answer.status_code == 200, title
            markdown = answer.headers["content-type"].startswith("text/markdown")
            headings = re.findall(r"^#+ (.+)", answer.text, re.MULTILINE)
            anchors = {head.lower() for head in headings} if markdown else answer.text.split('"')
            assert not place or place in anchors, title


def test_every_door_of_the_schema_is_in_it(text, service):
    paths = httpx.get(f"{service}/api/v1/schema/").json()["paths"]
    methods = ("get", "post", "put", "patch", "delete")
    doors = {f"{m.upper()} {path}" for path, said in paths.items() for m in said if m in methods}
    assert doors <= set(links(text))


def test_the_page_of_the_client_names_every_command_and_exit_code(service):
    page = httpx.get(f"{service}/client.md").text
    assert [name for name in COMMANDS if not re.search(rf"\b{name}\b", page)] == []
    assert re.findall(r"^\| (\d) \|", page, re.MULTILINE) == ["0", "1", "2", "3", "4"]
