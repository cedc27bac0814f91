"""Chunks and passages: exact offsets, cuts where a reader would make them, and work that grows with the text and nothing else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.ingest import chunker as module
from kg.ingest import seams
from kg.ingest.chunker import WordChunker
from kg.ingest.passages import passages
from kg.parts import Chunk, Chunker
from lanework.errors import ConfigError

SMALL = WordChunker(target=20, overlap=5, characters=400)
PIECES = st.sampled_from(
    [
        "word",
        "a",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\n# Heading\n",
        ". ",
        ", ",
        "; ",
        "漢字仮名交じり",
        "。",
        "、",
        "x" * 50,
        "é",
        "𝄞",
        "\t",
        "-",
        "…",
        "」",
        "1",
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=400).map("".join),
    st.text(max_size=300),
    st.tuples(PIECES, st.integers(0, 2000)).map(lambda pair: pair[0] * pair[1]),
)


def count(text: str) -> int:
    return sum(1 for _ in seams.words.finditer(text))


def check(text: str, found: list[Chunk], most: int, characters: int) -> None:
    assert "".join(text[one.own : one.end] for one in found) == text
    end = before = 0
    for ordinal, one in enumerate(found):
        assert one.ordinal == ordinal
        assert one.text == text[one.start : one.end]
        assert before <= one.start <= one.own == end < one.end
        assert len(one.text) <= characters
        assert count(one.text) <= most
        before, end = one.own, one.end


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_every_text_comes_back_from_its_chunks(text: str) -> None:
    check(text, SMALL.chunks(text), 30, 400)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(1, 60), st.integers(0, 10), st.integers(100, 500))
def test_whatever_the_sizes(text: str, target: int, overlap: int, characters: int) -> None:
    chunker = WordChunker(target, least=1, most=2, overlap=min(overlap, target // 2), characters=characters)
    check(text, chunker.chunks(text), target * 2, characters)


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.integers(0, 10_000))
def test_passages_stand_where_they_say(text: str, start: int) -> None:
    found = passages(text, start, longest=100)
    place = start
    for begin, finish, said in found:
        assert said == text[begin - start : finish - start] == said.strip()
        assert 0 < len(said) <= 100
        assert begin >= place
        assert not text[place - start : begin - start].strip(), "nothing but space is left out"
        place = finish
    assert not text[place - start :].strip()


def sentences(number: int) -> str:
    return " ".join(f"This is sentence {n} of the text." for n in range(number))


def test_it_is_a_chunker() -> None:
    assert isinstance(WordChunker(), Chunker)


def test_sizes_of_ordinary_text() -> None:
    text = "\n\n".join(sentences(12) for _ in range(100))
    found = WordChunker().chunks(text)
    assert all(800 <= count(one.text) <= 1500 for one in found)
    assert all(150 <= count(text[one.start : one.own]) <= 250 for one in found[1:])
    assert all(text[one.own - 2 : one.own] == "\n\n" for one in found[1:])
    assert all(one.text.startswith("This is") for one in found)


@pytest.mark.parametrize("words", [0, 1, 799, 800, 1000, 1499, 1500, 1501, 1600, 1999, 2300, 3001])
def test_no_crumbs_at_the_end(words: int) -> None:
    found = WordChunker().chunks("word " * words)
    assert [count(one.text) for one in found][-1:] in ([], [words]) or 800 <= count(found[-1].text) <= 1500


@pytest.mark.parametrize(
    ("between", "before_next"),
    [
        ("\n# Heading ", "# Heading"),
        ("\n\n", "next"),
        (". Next ", "Next"),
        (", ", "next"),
        (" ", ""),
    ],
)
def test_where_it_cuts(between: str, before_next: str) -> None:
    """One seam of a kind, off the middle: worse kinds are everywhere."""
    text = "word " * 16 + "last" + between + "next" + " word" * 30
    cut = SMALL.chunks(text)[0].end
    assert text[cut:].lstrip().startswith(before_next)
    assert before_next == "" or count(text[:cut]) == 17


def test_better_seams_come_first() -> None:
    text = "word " * 16 + "a, b. C d\n\ne" + " word" * 30
    assert SMALL.chunks(text)[0].text.endswith("C d\n\n")
    assert SMALL.chunks(text.replace("\n\n", " "))[0].text.endswith("b. ")
    assert SMALL.chunks(text.replace("\n\n", " ").replace(".", ""))[0].text.endswith("a, ")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("漢" * 12, 6), ("漢字 かな", 2), ("x" * 100, 3), ("a b\nc", 3), ("한국어 텍스트", 4), ("", 0), (" \n", 0)],
)
def test_what_a_word_is(text: str, expected: int) -> None:
    assert count(text) == expected


@pytest.mark.parametrize(
    "options", [{"target": 0}, {"overlap": -1}, {"overlap": 500}, {"least": 1.1}, {"most": 0.9}, {"characters": 50}]
)
def test_sizes_that_make_no_sense(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="expected"):
        WordChunker(**options)


def test_passages_end_with_sentences() -> None:
    text = sentences(200)
    found = passages(text)
    assert all(said.endswith(".") and said.startswith("This") and 475 <= len(said) <= 950 for _, _, said in found[:-1])


def test_a_passage_begins_with_its_heading() -> None:
    text = sentences(20) + "\n\n# Heading\n\n" + sentences(40)
    assert passages(text)[1][2].startswith("# Heading")


# Work is counted in characters that are looked at


class Counted:
    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.work = 0
        ends, after, words = seams.ends, module.after_words, seams.words
        monkeypatch.setattr(seams, "ends", lambda seam, text, low, high: self._seen(low, high) or ends(seam, text, low, high))
        monkeypatch.setattr(
            module, "after_words", lambda text, start, edge, number: self._seen(start, edge) or after(text, start, edge, number)
        )
        outer = self

        class Words:
            @staticmethod
            def finditer(text: str, low: int, high: int) -> Iterator[re.Match[str]]:
                outer._seen(low, high)
                return words.finditer(text, low, high)

        monkeypatch.setattr(seams, "words", Words)

    def _seen(self, low: int, high: int) -> bool:
        self.work += high - low
        return False

    def of(self, text: str) -> int:
        self.work = 0
        WordChunker().chunks(text)
        return self.work


HARD = {
    "one line without spaces": "x",
    "newlines": "\n",
    "spaces": " ",
    "cjk without spaces": "漢字仮名交じり文",
    "short words": "a ",
    "dots": ". ",
    "quotes": '."',
    "headings": "\n# a",
    "lines of spaces": "\n   \t",
    "long words": "x" * 39 + " ",
    "commas": ",",
    "prose": "This is a sentence, and so on. ",
}


@pytest.mark.parametrize("name", HARD)
def test_work_grows_with_the_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Counted(monkeypatch)
    piece = HARD[name]
    sizes = [50_000, 200_000]
    work = [counted.of(piece * (size // len(piece))) for size in sizes]
    assert work[1] <= work[0] * 4.5
    assert work[1] <= 60 * sizes[1]
    assert work[1] >= sizes[1], "the count counts"


def test_no_pattern_tries_again() -> None:
    """Every repetition is possessive: what was taken is never given back, so a window is read once."""
    for seam in (*seams.SEAMS, module._words(7)):
        bare = re.sub(r"\[[^\]]*\]|\\.|\(\?[:=]", "_", seam.pattern)
        assert re.findall(r"[*+}](?![+])(?<![*+}]\+)", bare) == [], seam.pattern
