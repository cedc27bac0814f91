"""What the local extractor reads of a text: prose, in parts, at the places where it stands."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.local.cleaning import BREAK, PART, parts, prose, squeezed


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab`~*_#<>-!|[]()\n \t.&;\\/:=é\u200b", max_size=200))
def test_cleaning_moves_nothing(text: str) -> None:
    cleaned = prose(text)
    assert len(cleaned) == len(text)
    assert all(after in (before, " ", BREAK) for before, after in zip(text, cleaned, strict=True))
    assert "".join(part for _, part in parts(cleaned)) == cleaned
    shown, places = squeezed(cleaned)
    assert len(shown) == len(places)
    assert places == sorted(places)
    assert all(cleaned[place] == letter for letter, place in zip(shown, places, strict=True) if not letter.isspace())


@pytest.mark.parametrize(
    "unit", ["<!--", "| ", "[", "<a ", "```\n", "    x\n", "_a", "- ", "&a", "\n", "http://", "- - -", "# ", "`/", "`a/."]
)
def test_cleaning_is_linear(unit: str) -> None:
    """Quadratic, these characters would take minutes: the test's time limit is the assertion."""
    text = unit * (200_000 // len(unit))
    assert len(prose(text)) == len(text)


def test_parts_are_cut_where_a_reader_would_pause() -> None:
    text = ("A sentence of some words. " * 40 + "\n\n") * 20
    pieces = list(parts(text))
    assert all(len(piece) <= PART for _, piece in pieces)
    assert all(piece.endswith("\n\n") for _, piece in pieces[:-1])
    assert [start for start, _ in pieces] == [sum(len(piece) for _, piece in pieces[:n]) for n in range(len(pieces))]
