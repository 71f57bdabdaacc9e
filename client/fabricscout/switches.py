"""What a flag without a value asks: `true`, or `yes` where the API has that word for it.

Most fields are true or false, and some are yes, no or conditional; which, the service's own schema
says. It is read only when the service refused such a flag, so that the usual question costs one
request.
"""

from collections.abc import Mapping
from typing import Any

from fabricscout.client import FabricScout
from fabricscout.connection import Value

WORDS = {True: "yes", False: "no"}


def in_words(scout: FabricScout, door: str, parameters: Mapping[str, Value]) -> Mapping[str, Value]:
    """The parameters, with `yes` or `no` for each True or False of a field that has these words."""
    if not any(isinstance(value, bool) for value in parameters.values()):
        return parameters
    schema = scout.connection.get("schema/")
    takes = schema["paths"][f"/api/v1/{door}/"]["get"]["parameters"]
    words = {each["name"]: _words(each["schema"]) for each in takes}
    return {
        name: WORDS[value]
        if isinstance(value, bool) and words.get(name, set()) >= {*WORDS.values()}
        else value
        for name, value in parameters.items()
    }


def _words(kind: Mapping[str, Any]) -> set[str]:
    """The closed list of a parameter, or of each of its values; empty where it has none."""
    return set(kind.get("items", kind).get("enum", ()))
