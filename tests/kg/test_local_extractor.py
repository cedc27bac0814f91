"""Extraction by grammar: what is found, where exactly, and what hostile text costs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kg.errors import ModelFiles
from kg.local import english
from kg.local.cleaning import BREAK, PART, prose
from kg.local.concepts import Concepts
from kg.local.extractor import LocalExtractor
from kg.local.files import locate
from kg.local.reading import Seen
from kg.local.relations import MOST_IN_SENTENCE
from kg.parts import Extractor
from tests.kg.extracting import extract, labels, stated
from tests.kg.local_models import local_extractor

PERSON = (
    "Willi Schneider (born 13 March 1963 in Mediaș, Transylvania) is a German skeleton racer who competed from 1992 to 2002."
    " Schneider won a gold medal in Calgary. He lives in Winterberg."
)


def test_it_is_an_extractor() -> None:
    assert isinstance(local_extractor(), Extractor)
    low, high = local_extractor().expect(PERSON)
    used = extract(PERSON).usage
    assert low.tokens_in <= used.tokens_in <= high.tokens_in
    assert used.cost == high.cost == 0


def test_a_person() -> None:
    found = extract(PERSON)
    known = labels(found)
    assert known["Willi Schneider"].type == "person"
    assert known["Transylvania"].type == "place"
    assert known["skeleton racer"].type == "concept"
    assert known["13 March 1963"].type == "date"
    assert {"1992", "2002"} <= set(known)  # two days, not one span
    assert "Schneider" not in known  # one person bears the name here
    assert {
        ("Willi Schneider", "BORN_IN", "Mediaș"),
        ("Willi Schneider", "IS_A", "skeleton racer"),
        ("Willi Schneider", "FROM", "German"),
        ("Mediaș", "LOCATED_IN", "Transylvania"),
        ("Willi Schneider", "LIVE_IN", "Winterberg"),  # he
    } <= stated(found)


def test_technical_text() -> None:
    found = extract(
        "Databases use indexes. The worker does not use a lock. PostgreSQL is a database. The plan consists of two steps."
    )
    assert {
        ("database", "USES", "indexes"),
        ("worker", "NOT_USES", "lock"),
        ("PostgreSQL", "IS_A", "database"),
        ("plan", "COMPOSED_OF", "steps"),
    } <= stated(found)


def test_passive_and_possessive() -> None:
    found = extract("Lanework was written by Maria Keller. The company's engineers reviewed the code.")
    assert ("Lanework", "WRITTEN_BY", "Maria Keller") in stated(found)
    assert ("company", "HAS", "engineers") in stated(found)


def test_an_acronym_that_is_explained_is_one_concept_with_its_name() -> None:
    found = extract("The World Health Organization (WHO) was founded in 1948. WHO has offices in Geneva.")
    known = labels(found)
    assert known["World Health Organization"].search_terms == ("WHO",)
    assert "WHO" not in known
    quotes = [one.quote for one in found.instances if one.concept_key == known["World Health Organization"].key]
    assert quotes == ["World Health Organization", "WHO", "WHO"]


def test_a_surname_with_two_bearers_stays_alone() -> None:
    found = extract("Anna Keller met Peter Keller in Berlin. Later Keller went to Paris.")
    assert {"Anna Keller", "Peter Keller", "Keller"} <= set(labels(found))


def test_neighbours_are_weak_and_never_doubled() -> None:
    found = extract("In Vienna, Anna Keller saw Peter Huber.")
    assert all(one.type == "RELATED_TO" and one.direction == "both" for one in found.relationships if one.tier == "weak")
    pairs = [frozenset((one.from_key, one.to_key)) for one in found.relationships if one.tier == "weak"]
    assert len(pairs) == len(set(pairs))
    assert not set(pairs) & {frozenset((one.from_key, one.to_key)) for one in found.relationships if one.tier == "precise"}


def test_pronouns_determiners_and_bare_numbers_are_no_concepts() -> None:
    known = {
        label.casefold()
        for label in labels(extract("It has seven of them. They took the first one, 42, and this. Everyone saw her."))
    }
    assert not known & {"it", "them", "they", "this", "her", "42", "seven", "one", "the", "everyone"}


def test_code_and_markup_are_not_read() -> None:
    text = (
        "# The **Worker**\n\nThe worker runs `jobs`.\n\n```python\nimport Elephants\nJohn = London()\n```\n\n    Paris = 1\n\n"
        "See [the manual](https://example.org/Madrid) <!-- Rome --> and <b class='Oslo'>Anna Keller</b>.\n"
        "It stands in `Lisbon/cities.py::Vienna`.\n"
    )
    known = set(labels(extract(text)))
    assert "Anna Keller" in known
    for hidden in ("Elephants", "John", "London", "Paris", "Madrid", "Rome", "Oslo", "Lisbon", "Vienna"):
        assert not any(hidden in label for label in known)


def test_no_sentence_goes_over_an_empty_line() -> None:
    found = extract("Anna Keller\n\nBerlin")
    assert not found.relationships


def test_no_name_goes_over_a_cell_a_column_or_a_short_line() -> None:
    text = "Name\tAge\tCity\nAlice Smith\t31\tBoston\nBob Jones\t45\tDenver\n\nMaria Keller | Head of Operations | Lanework AG\n"
    found = extract(text)
    assert {"Alice Smith", "Bob Jones", "Boston", "Denver", "Maria Keller"} <= set(labels(found))
    assert not any({"\t", "\n", "|"} & set(one.quote) for one in found.instances)
    wrapped = extract("The heartbeat of the worker tells PostgreSQL again and again that Maria\nKeller is alive and well.")
    assert "Maria Keller" in labels(wrapped)  # a line that was only wrapped goes on


def test_headings_in_capitals_are_common_nouns() -> None:
    found = labels(extract("THE HISTORY OF THE LANEWORK ENGINE\n\nNASA and INSEAD met the UN.\n"))
    assert found["history"].type == "concept"
    assert not {"HISTORY", "LANEWORK", "ENGINE", "LANEWORK ENGINE"} & set(found)
    assert found["NASA"].type != "concept"


def test_what_letters_are_made_of_is_no_concept() -> None:
    text = (
        "From: Maria Keller <maria.keller@example.com>\nSubject: Re: budget review\n\nThanks for the slides! The Zurich office"
        " wants them by Friday.\n\nBest,\nMaria\nTel. +41 44 123 45 67\nsee src/kg/config.py:42\n"
    )
    found = labels(extract(text))
    assert {"Maria Keller", "Zurich", "budget review"} <= set(found)
    assert not {"Subject", "Re", "Best", "thanks", "Friday", "Tel", "Maria", "44 123 45 67", "src/kg/config.py:42"} & set(found)


def test_of_another_language_names_alone_are_read() -> None:
    found = extract(
        "Die Bundesregierung hat am Dienstag in Berlin ein neues Gesetz beschlossen. Bundeskanzler Olaf Scholz sagte, die Reform"
        " sei notwendig. Der Verband kritisierte den Entwurf. Siemens und die Deutsche Bahn wollen in München investieren."
    )
    assert {"Berlin", "München", "Deutsche Bahn"} <= set(labels(found))
    assert all(one.label[0].isupper() and one.type != "concept" for one in found.concepts)
    assert stated(found) == set()


def test_names_of_one_text_that_stand_for_one_are_one_concept() -> None:
    text = "The Association of Southeast Asian Nations met in Jakarta. ASEAN is old. John F. Kennedy wrote. Kennedy spoke."
    found = extract(text)
    names = labels(found)
    assert not {"ASEAN", "Kennedy"} & set(names)
    assert names["Association of Southeast Asian Nations"].search_terms == ()  # the text did not say so: it holds here alone
    assert {one.quote for one in found.instances} >= {"ASEAN", "Kennedy"}


def test_the_same_answer_every_time_and_in_every_process() -> None:
    text = PERSON + " The World Health Organization (WHO) is in Geneva."
    before = extract(text)
    extract("Something else about Paris and Rome. " * 20)
    assert extract(text) == before
    code = f"import asyncio; from kg.local.extractor import LocalExtractor; print(asyncio.run(LocalExtractor().extract({text!r})))"
    environment = {**os.environ, "PYTHONHASHSEED": "77"}
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True, timeout=100)
    assert other.stdout.strip() == str(before)


@pytest.mark.parametrize("text", ["", " ", "\n\n\n", "```\ncode", "\x00\x01", "....", "é̂́" * 50, "🙂" * 100, "\ud800 lone"])
def test_text_that_says_nothing(text: str) -> None:
    extract(text)


@pytest.mark.parametrize(
    "text",
    [
        "and Paris " * 650,
        "(" * 8000,
        "a" * 20_000,
        ("Paris, " * 900) + ".",
        "“Title " * 500,
        "He said that " * 400,
        "http://" * 1500,
        "1990 to " * 400,
    ],
    ids=["no end", "brackets", "one word", "a list", "quotes", "nested", "addresses", "years"],
)
def test_hostile_text_costs_what_its_length_costs(text: str) -> None:
    """A part is parsed in one go, and a sentence has so many mentions that are looked at; both are bounded."""
    found = extract(text)
    longest = len(text) // PART + 2
    assert len(found.relationships) <= longest * PART // 2 * MOST_IN_SENTENCE


def test_mentions_of_one_thing_in_two_parts_are_one_concept() -> None:
    filler = "The weather was fine and nothing else happened on that day. " * 120
    found = extract(f"Anna Keller lives in Berlin.\n\n{filler}\n\nAnna Keller moved to Paris.")
    keller = labels(found)["Anna Keller"]
    assert [one.quote for one in found.instances if one.concept_key == keller.key] == ["Anna Keller", "Anna Keller"]
    assert {("Anna Keller", "LIVE_IN", "Berlin"), ("Anna Keller", "MOVE_TO", "Paris")} <= stated(found)


def test_changed_files_of_the_parser_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    real = locate(english.DISTRIBUTION, english.FOLDER)
    for name in english.FILES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).symlink_to(real / name)
    monkeypatch.setattr(english, "locate", lambda distribution, path: tmp_path)
    (tmp_path / "ner" / "cfg").unlink()
    with pytest.raises(ModelFiles, match="cannot read the model file"):
        LocalExtractor().load()
    (tmp_path / "ner" / "cfg").write_bytes((real / "ner" / "cfg").read_bytes() + b" ")
    with pytest.raises(ModelFiles, match="is not the file that was tested"):
        LocalExtractor().load()


def test_what_somebody_is_and_small_letters_are_no_names() -> None:
    known = labels(
        extract("The Prime Minister met the Chief Financial Officer. Dolofen relieves headache. The Bishop took oryx meat.")
    )
    assert {known[one].type for one in ("Prime Minister", "Chief Financial Officer", "headache")} == {"concept"}
    assert not any(one.type != "concept" for label, one in known.items() if "Bishop" in label or "oryx" in label)


def test_a_word_that_is_a_common_noun_as_often_is_one() -> None:
    named, common = Seen("Agreement", "organization", 0, 9), Seen("agreement", "concept", 20, 29)
    assert [one.type for one in Concepts([named, common]).all] == ["concept"]
    assert [one.type for one in Concepts([named, named, common]).all] == ["organization"]


def test_no_sentence_begins_inside_of_a_name() -> None:
    found = extract("The Keller family\n\nAnna Keller is a surgeon in Berlin. Her brother Peter Keller runs a vineyard.")
    assert {"Anna Keller", "Peter Keller"} <= set(labels(found))
    assert ("Anna Keller", "IS_A", "surgeon") in stated(found)


def test_parts_of_a_name_are_one() -> None:
    known = labels(extract("The Bay of Biscay is deep. The Aquila X200 replaces another camera."))
    assert {"Bay of Biscay", "Aquila X200"} <= set(known)
    assert not {"Bay", "Biscay", "Aquila", "X200"} & set(known)
    assert (known["Bay of Biscay"].type, known["Aquila X200"].type) == ("place", "product")


def test_a_greeting_and_a_caption_are_nobody() -> None:
    found = extract(
        '> Hi Laura,\n>\n> Calder & Sons sent a quote. Laura Bennett left.\n\nApologies: Sofia Rossi\n\n"Come," she said.'
    )
    assert not {"Apologies", "Come", "Come,"} & {one.label for one in found.concepts if one.type != "concept"}
    assert "Laura Bennett" in labels(found)
    assert not {"Hi Laura", "Laura"} & set(labels(found))


def test_days_are_whole_and_other_numbers_none() -> None:
    text = "On Wed, 12 Jun 2024 it began; on 2017-03-01 it was planned. It listens on port 7070. Pay within thirty (30) days."
    dates = {one.label for one in extract(text).concepts if one.type == "date"}
    assert dates == {"12 Jun 2024", "2017-03-01"}


def test_acronyms_of_common_nouns() -> None:
    found = extract(
        "The classifier reached an area under the curve (AUC) of 0.81. It makes short-chain fatty acids (SCFAs)."
        " The AUC was measured again, and SCFAs were found. A first-line treatment helps."
    )
    known = labels(found)
    assert known["area under the curve"].search_terms == ("AUC",)
    assert known["short-chain fatty acids"].search_terms == ("SCFAs",)
    assert "first-line treatment" in known
    assert not {"AUC", "SCFAs", "curve", "line treatment"} & set(known)


def test_a_word_that_is_cut_at_the_end_of_a_line_is_one() -> None:
    found = extract("Mr. Josiah Tren-\nchard drove oak piles for the founda-\ntion of the pier.")
    assert {"Josiah Trenchard", "foundation"} <= set(labels(found))
    assert "Josiah Tren-\nchard" in {one.quote for one in found.instances}


def test_rows_of_values_are_cells() -> None:
    text = "id,name,city,salary\n1,Hannah Fischer,Basel,98000\n2,Omar Haddad,Dubai,72000\n"
    assert prose(text).count(BREAK) >= 9
    assert {"Hannah Fischer", "Omar Haddad"} <= set(labels(extract(text)))
    assert BREAK not in prose("It cost 1,120,000 or 3,400,000 or 5,000,000, they say, and more, in 2023, than before.")


def test_a_caption_ends_the_line_before_it() -> None:
    text = "Present: Amara Okafor (chair), Jonas Lindqvist, Priya Raman and Tom Becker\nApologies: Sofia Rossi\n"
    assert "Tom Becker" in labels(extract(text))


def test_a_list_without_articles_is_no_definition() -> None:
    found = extract("Oslo, the capital, is rich. Salt, pepper, oil are needed.")
    assert ("Oslo", "IS_A", "capital") in stated(found)
    assert not any(type == "IS_A" and one.casefold() == "salt" for one, type, _ in stated(found))
