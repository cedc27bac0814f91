"""Several rankings into one, and walks over a graph."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from kg.graph.ranking import best, fused, walked


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
