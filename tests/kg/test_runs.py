"""Which words of a question could be names."""

from __future__ import annotations

from kg.graph.runs import LONGEST, WORDS, Runs


def test_a_longer_name_covers_the_shorter_ones_in_it() -> None:
    runs = Runs("What song debuted in the 1999 episode of South Park?")
    assert {"south park", "south", "park", "episode"} <= runs.forms
    assert runs.longest({"south park", "south", "park", "episode", "nobody"}) == {"south park", "episode"}


def test_small_letters_find_a_name_and_words_of_questions_none() -> None:
    assert "united states" in Runs("where in the united states").forms
    assert not {"the", "of", "first", "two", ""} & Runs("Which of the first two? ! the").forms


def test_a_question_without_end_has_few_runs() -> None:
    assert len(Runs("word " * 10_000).forms) <= 2 * LONGEST
    many = Runs(" ".join(f"word{n}" for n in range(1000)))
    assert len(many.forms) <= 2 * WORDS * LONGEST
    assert many.longest(many.forms)
