"""The parts of which a graph is computed: keys, sketches, places."""

from __future__ import annotations

import math
import random
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kg.graph.clusters import Node, place, vetoed
from kg.graph.keys import aliases, keys, probes
from kg.graph.likeness import Named, form
from kg.graph.sketch import DIFFERENT, sketch, sketches
from kg.parts import Vector

WORDS = ("World", "Health", "Organization", "WHO", "Smith", "John", "J.", "data", "base", "bases", "II", "a", "of")
named = st.builds(
    lambda label, type, called: Named(form(label), label, type, frozenset(map(form, called)) - {form(label)}),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.sampled_from(("", "person", "organization")),
    st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join), max_size=2),
)


@given(named, named)
def test_who_finds_is_found(one: Named, other: Named) -> None:
    assert bool({*probes(one)} & {*keys(other)}) == bool({*probes(other)} & {*keys(one)})
    assert aliases(keys(one), one.form) == one.aliases


@pytest.mark.parametrize(
    ("one", "other"),
    [("WHO", "World Health Organization"), ("Taito", "Taito Corporation"), ("Spurs", "San Antonio Spurs"),
     ("data base", "Databases"),
     ("J. Smith", "John Smith"), ("Smith", "John Smith"), ("Health World", "World Health")],
)  # fmt: skip
def test_names_that_may_be_one_meet_without_a_vector(one: str, other: str) -> None:
    a, b = Named(form(one), one), Named(form(other), other)
    assert {*probes(a)} & {*keys(b)}


def test_names_that_share_a_frequent_word_do_not_meet() -> None:
    a, b = (Named(form(label), label) for label in ("Solar System", "Operating System"))
    assert not {*probes(a)} & {*keys(b)}


def _pair(cosine: float, chance: random.Random) -> tuple[Vector, Vector]:
    one, other = ([chance.gauss(0, 1) for _ in range(384)] for _ in range(2))
    size = math.sqrt(sum(x * x for x in one))
    one = [x / size for x in one]
    along = sum(x * y for x, y in zip(one, other, strict=True))
    other = [y - along * x for x, y in zip(one, other, strict=True)]
    size = math.sqrt(sum(y * y for y in other))
    sine = math.sqrt(1 - cosine * cosine)
    return one, [cosine * x + sine * y / size for x, y in zip(one, other, strict=True)]


@pytest.mark.parametrize(
    ("cosine", "low", "high"), [(0.95, 0.98, 1), (0.9, 0.95, 1), (0.85, 0.85, 1), (0.75, 0.4, 0.9), (0.1, 0, 0.02)]
)
def test_the_nearer_two_vectors_are_the_surer_they_share_a_band(cosine: float, low: float, high: float) -> None:
    chance = random.Random(cosine)
    meetings = 0
    for _ in range(150):
        one, other = (sketch(vector, ontology=1, space=1) for vector in _pair(cosine, chance))
        different = sum(a != b for a, b in zip(one.bits, other.bits, strict=True))
        meetings += bool({*one.bands} & {*other.bands}) and different <= DIFFERENT
    assert low <= meetings / 150 <= high


def test_a_sketch_is_stored_and_must_never_change() -> None:
    found = sketch([math.sin(at) for at in range(384)], ontology=1, space=1)
    assert (found.bands[:3], found.bits[:16], len(found.bands), len(found.bits)) == (
        [781217987, 783453284, 784593495],
        "0001000101010000",
        61,
        256,
    )
    assert sketch([math.sin(at) for at in range(384)], ontology=2, space=1).bands != found.bands


def test_a_sketch_is_the_same_alone_and_among_others_and_from_what_is_stored() -> None:
    chance = random.Random(4)
    vectors = [[chance.gauss(0, 0.05) for _ in range(384)] for _ in range(5)]
    alone = [sketch(one, ontology=at, space=1) for at, one in enumerate(vectors)]
    assert sketches(np.array(vectors), range(5), 1) == alone
    stored = [[float(np.float32(f"{x:.9g}")) for x in one] for one in vectors]
    assert sketches(np.array(stored), range(5), 1) == alone


@pytest.mark.parametrize("dimensions", [1, 3, 24, 512, 513, 3072])
def test_vectors_of_any_length_have_a_sketch(dimensions: int) -> None:
    one = [math.sin(at + 1) for at in range(dimensions)]
    found, near, other = (sketch(v, ontology=1, space=1) for v in (one, [2.0 * x for x in one], [-x for x in one]))
    assert found == near and not {*found.bands} & {*other.bands}


def _node(id: int, form: str, concept: int | None = None, seen: int = 1) -> Node:
    return Node(id, Named(form, form), concept, seen)


def test_a_concept_that_grows_keeps_its_id() -> None:
    found = place([(_node(1, "a", 10), _node(2, "b"))], {})
    assert (found.homes, found.moves) == ([10], [])


def test_of_two_the_more_seen_stays_then_the_older() -> None:
    assert place([(_node(1, "a", 10), _node(2, "b", 11, seen=5))], {}).moves == [(10, 11, "a")]
    assert place([(_node(1, "a", 11), _node(2, "b", 10))], {}).homes == [10]


def test_who_comes_apart_has_his_id_back() -> None:
    apart = [(_node(1, "a", 10),), (_node(2, "b", 10),)]
    assert place(apart, {"a": 7}).homes == [7, 10]
    assert place(apart, {}).homes == [10, None]


def test_numbers_are_vetoes_and_unlike_names_are_none() -> None:
    assert vetoed(Named("mortal kombat", "Mortal Kombat"), Named("mortal kombat ii", "Mortal Kombat II"))
    assert not vetoed(Named("ibm", "IBM"), Named("big blue", "Big Blue"))
    assert all(vetoed(Named(a, a, "person"), Named(b, b, "place")) for a, b in product(["ann"], ["geneva"]))
