"""Sentences around a quote, and the axis of support."""

from __future__ import annotations

import pytest

from kg.graph.evidence import LONGEST, sentence
from kg.graph.grounding import Axis


@pytest.mark.parametrize(
    ("text", "quote", "expected"),
    [
        ("One. Two is here. Three.", "Two", "Two is here."),
        ("One. Two is here. Three.", "here. Three", "Two is here. Three."),
        ("# Title\n\nA paragraph\nof two lines\n\nNext", "two", "A paragraph of two lines"),
        ("Ends at e.g. this. No", "this", "this."),
        ("only", "only", "only"),
        # Red while all rows of a table of a DOCX or a web page were one sentence.
        ("who | due\nLetter | Ann | 24 May\nQuote | Bob | 31 May\n\nNext", "Ann", "Letter | Ann | 24 May"),
    ],
)
def test_sentences(text: str, quote: str, expected: str) -> None:
    begin = text.index(quote)
    assert sentence(text, begin, begin + len(quote)) == expected


def test_a_sentence_without_an_end_is_cut_around_the_quote() -> None:
    text = "x" * 3000 + "quote" + "y" * 3000
    found = sentence(text, 3000, 3005)
    assert "quote" in found and len(found) <= LONGEST + 10


def test_the_axis_of_support() -> None:
    axis = Axis(against=[0.0, 1.0], towards=[1.0, 0.0])
    assert [axis.place(one) for one in ([1.0, 0.0], [0.0, 1.0], [0.7, 0.7], [5.0, -5.0])] == [1, -1, pytest.approx(0), 1]
    assert Axis([1.0, 0.0], [1.0, 0.0]).place([0.0, 1.0]) == 0  # an embedder that sees no difference
