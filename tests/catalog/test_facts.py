"""A fact is one line, and a line without a source does not load. Pure: no database."""

from decimal import Decimal

import pytest

from catalog.facts import COLUMNS, BadFact, read
from catalog.records import Basis

GOOD = {
    "subject": "p/t",
    "attribute": "scale_up_gbytes_per_s",
    "value": "450",
    "unit": "GB/s",
    "basis": "spec",
    "source": "https://example.com/datasheet",
    "checked": "2026-11-01",
    "scope": "",
    "note": "",
}


@pytest.fixture
def file(tmp_path):
    def write(*lines, header=None):
        path = tmp_path / "instances.csv"
        text = [header or ",".join(COLUMNS), *(",".join((GOOD | line).values()) for line in lines)]
        path.write_text("\n".join(text) + "\n")
        return path

    return write


def test_a_line_becomes_a_fact_of_the_attributes_own_type(file):
    (fact,) = read(file({}))
    assert (fact.value, fact.basis) == (Decimal(450), Basis.SPEC)


def test_an_empty_value_says_where_was_looked(file):
    (fact,) = read(file({"value": ""}))
    assert fact.value is None


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"source": ""}, "source: is empty"),
        ({"subject": ""}, "subject: is empty"),
        ({"basis": "rumour"}, "basis: 'rumour' is none of measured, documented"),
        ({"unit": "Gb/s"}, "unit: scale_up_gbytes_per_s is given in GB/s, not 'Gb/s'"),
        ({"attribute": "speed"}, "attribute: 'speed' is not an attribute"),
        ({"value": "NaN"}, "is not between 1 and 5000"),
        ({"value": "9e999999999"}, "is not between 1 and 5000"),
        ({"value": "0"}, "is not between 1 and 5000"),
        ({"value": "fast"}, "'fast' is not a number"),
        ({"attribute": "fabric", "unit": "", "value": "ib"}, "'ib' is none of infiniband"),
        ({"attribute": "fabric_nics", "unit": "NICs", "value": "1.5"}, "is not a whole number"),
        (
            {"attribute": "software_support", "unit": "", "value": "MPI: yes; drivers: yes"},
            "is not of drivers, NCCL plugin, MPI, image, once each and in this order",
        ),
        ({"attribute": "software_support", "unit": "", "value": "MPI: maybe"}, "'maybe' is none"),
        ({"checked": "yesterday"}, "checked: 'yesterday' is not a date"),
        ({"note": "a,b"}, "has 10 fields, not 9"),
    ],
)
def test_a_wrong_line_is_named_by_file_and_number(file, wrong, says):
    with pytest.raises(BadFact, match=r"^instances.csv line 3: ") as refused:
        list(read(file({}, wrong)))
    assert says in str(refused.value)


def test_a_file_with_other_columns_is_refused_whole(file):
    with pytest.raises(BadFact, match=r"^instances.csv line 1: the columns are subject,"):
        list(read(file(header="a,b")))
