"""What type of relation an extractor means."""

from __future__ import annotations

import re

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.vocabulary.types import BUILT_IN, TYPES, Normal, normalise
from tests.kg.graphs import make_platform


def test_there_are_31_types_in_8_categories_and_the_table_has_them(database: str) -> None:
    make_platform(database)
    with psycopg.connect(database) as conn:
        found = conn.execute("select category, type from kg.vocabulary where built_in and active and description <> ''").fetchall()
    assert sorted(found) == sorted((category, one) for category, group in BUILT_IN.items() for one in group)
    assert (len(TYPES), len(BUILT_IN)) == (31, 8)


@pytest.mark.parametrize(
    ("given", "meant", "swapped"),
    [
        ("CAUSES", "CAUSES", False),
        ("is part of", "PART_OF", False),
        ("isPartOf", "PART_OF", False),
        ("is-a", "IS_A", False),
        ("PRODUCED_BY", "PRODUCES", True),
        ("is produced by", "PRODUCES", True),
        ("used by", "USES", True),
        ("was caused by", "CAUSES", True),
        ("regulated_by", "REGULATES", True),
        ("follows", "PRECEDES", True),
        ("contained in", "CONTAINS", True),
        ("USING", "USES", False),
        ("cause", "CAUSES", False),
        ("required", "REQUIRES", False),
        ("implied by", "IMPLIES", True),
        ("CONTRADICT", "CONTRADICTS", False),
        ("SUPORTS", "SUPPORTS", False),
        ("EXEMPLIFIS", "EXEMPLIFIES", False),
        ("written by", "WRITTEN_BY", False),
        ("lives in", "LIVES_IN", False),
        ("UNRELATED_TO", "UNRELATED_TO", False),
        ("dissimilar to", "DISSIMILAR_TO", False),
        ("does not cause", "DOES_NOT_CAUSE", False),
        ("not caused by", "NOT_CAUSED_BY", False),
        ("NON_EQUIVALENT_TO", "NON_EQUIVALENT_TO", False),
        ("unsupported by", "UNSUPPORTED_BY", False),
        ("", "RELATED_TO", False),
        ("包含", "RELATED_TO", False),
        ("2nd author of", "T_2ND_AUTHOR_OF", False),
    ],
)
def test_what_is_meant(given: str, meant: str, swapped: bool) -> None:
    assert normalise(given) == Normal(meant, swapped)


@given(st.text(max_size=300))
def test_anything_becomes_a_type_that_can_be_stored_and_stays_it(given: str) -> None:
    found = normalise(given).type
    assert re.fullmatch(r"[A-Z][A-Z0-9_]{0,99}", found)
    assert normalise(found).type == found


def test_no_built_in_type_is_taken_for_another() -> None:
    assert {one: normalise(one) for one in TYPES} == {one: Normal(one) for one in TYPES}
