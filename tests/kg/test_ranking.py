"""Several rankings into one, and walks over a graph."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from kg.graph.links import ABOUT, BEGINS, Links, rarity
from kg.graph.ranking import best, by_place, fused, walked


def test_what_two_rankings_agree_on_comes_first() -> None:
    assert best(fused([["a", "b", "c"], ["c", "b", "d"]])) == ["c", "b", "a", "d"]
    assert best(fused([["a", "b"], ["b", "a"]], [1.0, 3.0])) == ["b", "a"]
    assert best(fused([["a"], []]), 5) == ["a"]


def test_a_walk_reaches_what_two_hops_lead_to() -> None:
    edges = {("question", "bridge"): 1.0, ("bridge", "answer"): 1.0, ("far", "farther"): 1.0}
    ranks = walked(edges, {"question": 1.0})
    assert ranks["question"] > ranks["answer"] > 0
    assert ranks["far"] == ranks["farther"] == 0


def test_a_heavier_edge_takes_more_of_the_walk() -> None:
    ranks = walked({("a", "b"): 3.0, ("a", "c"): 1.0}, {"a": 1.0})
    assert math.isclose(ranks["b"], 3 * ranks["c"])


def test_an_edge_may_weigh_otherwise_backwards() -> None:
    edges = {("found", "bridge"): 1.0, ("about", "bridge"): 1.0, ("beside", "bridge"): 1.0}
    ranks = walked(edges, {"found": 1.0}, {("about", "bridge"): 5.0})
    assert math.isclose(ranks["about"], 5 * ranks["beside"])


def test_by_place_what_is_far_ahead_is_not_all() -> None:
    assert by_place({"a": 0.01, "b": 100.0, "c": 0.001}, 2.0) == {"b": 1.0, "a": 1 / 1.5, "c": 0.5}
    assert list(by_place({"x": 1.0, "y": 1.0}, 5.0)) == ["x", "y"]


def test_what_is_named_here_alone_leads_nowhere() -> None:
    links = Links(named=[7])
    links.mention(1, 5, 2, 2, 0)  # twice in the world, both here
    links.mention(1, 6, 1, 3, 40)
    links.mention(1, 7, 1, 1, 60)  # the question names it
    links.mention(1, 8, 1, 1, 80)
    links.mention(1, 9, 1, 1, 90)
    links.relate(5, 6, "precise", 0.8)  # what is here, too
    links.relate(8, 10, "weak", 0.5)  # what is elsewhere
    edges, _ = links.edges()
    assert {concept for (kind, _), (_, concept) in edges if kind == "passage"} == {6, 7, 8}


def test_a_passage_is_about_what_it_begins_with() -> None:
    links = Links(named=[])
    links.mention(1, 5, 1, 9, BEGINS)
    links.mention(2, 5, 1, 9, BEGINS + 1)
    links.mention(1, 5, 3, 9, 100)  # what is known stays
    edges, back = links.edges()
    assert len(set(edges.values())) == 1
    assert back == {(("passage", 1), ("concept", 5)): ABOUT * rarity(9)}


def test_no_seeds_no_ranks_and_a_lone_seed_keeps_all() -> None:
    assert walked({("a", "b"): 1.0}, {}) == {}
    assert walked({("a", "b"): 1.0}, {"a": 0.0}) == {}
    assert walked({}, {"alone": 2.0}) == {"alone": 1.0}


nodes = st.integers(0, 6)


@settings(max_examples=100, deadline=None)
@given(
    st.dictionaries(st.tuples(nodes, nodes), st.floats(0.1, 5), max_size=12), st.dictionaries(nodes, st.floats(0.1, 5), min_size=1)
)
def test_ranks_are_shares(edges: dict[tuple[int, int], float], seeds: dict[int, float]) -> None:
    ranks = walked(edges, seeds)
    assert math.isclose(sum(ranks.values()), 1, abs_tol=1e-9)
    assert all(rank >= 0 for rank in ranks.values())
