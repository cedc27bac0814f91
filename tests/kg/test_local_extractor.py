"""Extraction by grammar: what is found, where exactly, and what hostile text costs."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.errors import ModelFiles
from kg.local import english
from kg.local.cleaning import BREAK, PART, parts, prose, squeezed
from kg.local.concepts import Concepts
from kg.local.extractor import LocalExtractor
from kg.local.files import locate
from kg.local.reading import Seen
from kg.local.relations import MOST_IN_SENTENCE
from kg.parts import Concept, Extraction, Extractor
from tests.kg.local_models import local_extractor

PERSON = (
    "Willi Schneider (born 13 March 1963 in Mediaș, Transylvania) is a German skeleton racer who competed from 1992 to 2002."
    " Schneider won a gold medal in Calgary. He lives in Winterberg."
)


def extract(text: str) -> Extraction:
    found = asyncio.run(local_extractor().extract(text))
    keys = {one.key for one in found.concepts}
    for one in found.instances:
        assert text[one.start : one.start + len(one.quote)] == one.quote
        assert one.quote.strip()
        assert one.concept_key in keys
    for related in found.relationships:
        assert {related.from_key, related.to_key} <= keys
        assert related.from_key != related.to_key
        assert 0 < related.confidence <= 1
        assert english_type(related.type)
    return found


def english_type(type: str) -> bool:
    return type[0].isalpha() and type.isascii() and type.upper() == type and len(type) <= 100 and type.replace("_", "").isalnum()


def labels(found: Extraction) -> dict[str, Concept]:
    return {one.label: one for one in found.concepts}


def stated(found: Extraction, tier: str = "precise") -> set[tuple[str, str, str]]:
    name = {one.key: one.label for one in found.concepts}
    return {(name[one.from_key], one.type, name[one.to_key]) for one in found.relationships if one.tier == tier}


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


@pytest.mark.parametrize(
    ("text", "names", "never"),
    [
        (
            "La cooperativa Olivar del Sur vende aceite a Italia, Alemania y Japón desde hace años. Su presidenta, Carmen Ortega,"
            " explicó que la sequía redujo la cosecha. Los precios han subido mucho.",
            {"Olivar del Sur", "Italia", "Alemania", "Japón", "Carmen Ortega"},
            {"La", "Su", "Los", "Alemania y Japón"},
        ),
        (
            "Der Speicher soll 18 Millionen Euro kosten und bald in den Betrieb gehen. Geschäftsführerin Katharina Vogel sagte, die"
            " Anlage werde viele Haushalte versorgen. Das Land Sachsen fördert das Vorhaben mit viel Geld.",
            {"Land Sachsen"},
            {"Speicher", "Der Speicher", "Millionen Euro", "Anlage", "Haushalte", "Geld", "Vorhaben"},
        ),
        (
            "Компания открыла новый завод. Директор завода Анна Петрова сообщила, что предприятие будет выпускать лопасти для"
            " ветряных турбин. Строительство финансировал банк. На заводе работают люди.",
            {"Анна Петрова"},
            {"Компания", "На", "Директор", "Строительство"},
        ),
    ],
)
def test_names_of_other_languages(text: str, names: set[str], never: set[str]) -> None:
    found = extract(text)
    assert names <= set(labels(found))
    assert not never & set(labels(found))
    assert all(one.tier == "weak" for one in found.relationships)


def test_japanese_words_are_found_by_their_script() -> None:
    found = extract(
        "社長の田中健一氏は、大阪市に新しい研究所を開設した。同社は京都大学と電池を開発している。電池は電気自動車に使われる。"
    )
    known = labels(found)
    assert {"田中健一": "person", "大阪市": "place", "京都大学": "organization", "電池": "concept"}.items() <= {
        label: one.type for label, one in known.items()
    }.items()
    assert len([one for one in found.instances if one.quote == "電池"]) == 2


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("北京大学的研究人员开发了一种新的电池材料。" * 20, "Chinese"),
        ("أعلنت شركة الواحة للطاقة عن افتتاح محطة جديدة. " * 9, "Arabic"),
        # Red while English grammar was read into them.
        ("서울대학교는 대한민국 서울특별시 관악구에 있는 국립 대학이다. 김철수 교수가 1975년에 설립했다.", "Korean"),
        ("नई दिल्ली भारत की राजधानी है। महात्मा गांधी का जन्म पोरबंदर में 2 अक्टूबर 1869 को हुआ था।", "Devanagari"),
        ("กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย", "Thai"),
    ],
)
def test_of_a_script_without_borders_or_capitals_nothing_is_guessed_and_that_is_said(text: str, script: str) -> None:
    assert not extract(text).concepts
    (told,) = LocalExtractor().doubts(text)
    assert told.startswith(f"its text is in a script ({script}) in which the local model finds no concepts")


@pytest.mark.parametrize(
    "text", ["", "1234 5678", "Ada met Charles. 北京 is a city.", "Капитан Соколов", "東京の田中氏は電池を開発している。"]
)
def test_nothing_is_said_of_what_is_read(text: str) -> None:
    assert LocalExtractor().doubts(text) == []


def test_a_part_that_is_not_read_is_told_with_its_share() -> None:
    (told,) = LocalExtractor().doubts(
        "Ada met Charles in London, and they built engines there. " + "北京大学的研究人员开发了新的电池材料。" * 4
    )
    assert re.match(r"about \d\d% of its text is in a script \(Chinese\)", told)


def test_who_does_it_stands_nearest_to_the_verb() -> None:
    found = extract(
        "In 1910 Maria Keller moved to Copenhagen, where Peter Huber studied botany.\n\n"
        "Decision: the committee accepts the quotation of the builder."
    )
    assert {("Peter Huber", "STUDY", "botany"), ("committee", "ACCEPT", "quotation")} <= stated(found)
    assert not any(one in ("Copenhagen", "decision") for one, type, _ in stated(found) if type in ("STUDY", "ACCEPT"))


def test_what_is_said_of_one_of_a_list_is_said_of_all() -> None:
    found = extract("The enzyme decomposes hydrogen peroxide into water and oxygen. The company provides a laptop and a headset.")
    assert {("enzyme", "DECOMPOSE_INTO", "water"), ("enzyme", "DECOMPOSE_INTO", "oxygen")} <= stated(found)
    assert {("company", "PROVIDE", "laptop"), ("company", "PROVIDE", "headset")} <= stated(found)


def test_a_verb_that_leads_to_another_is_not_the_whole_relation() -> None:
    found = extract("The service began to return errors. Anna Keller refused to work for the ministry.")
    assert ("service", "BEGIN_TO_RETURN", "errors") in stated(found)
    assert ("Anna Keller", "REFUSE_TO_WORK_FOR", "ministry") in stated(found)


def test_what_stands_behind_the_object_is_not_the_object() -> None:
    found = extract(
        "Anna Keller won a medal in Calgary. The planner chooses hash joins for tables. Heat raises the output of steel."
    )
    said = {(one, type) for one, type, other in stated(found) if other in ("Calgary", "table", "tables", "steel")}
    assert ("Anna Keller", "WIN_IN") in said
    assert ("Anna Keller", "WIN") not in said
    assert any(type == "CHOOSE_FOR" for _, type in said)
    assert any(type == "RAISE" for _, type in said)


def test_a_noun_before_a_name_says_what_it_is() -> None:
    found = stated(extract("The cathedral was begun by the architect Bartolomeo Grassi. The owner, Marco Andreis, keeps bees."))
    assert {("Bartolomeo Grassi", "IS_A", "architect"), ("Marco Andreis", "IS_A", "owner")} <= found


def test_his_is_of_the_one_beside_it() -> None:
    found = stated(extract("Maria Lindholm was born in Flensburg. She was a child of Otto Aust and his wife Caroline."))
    assert ("Otto Aust", "HAS", "wife") in found
    assert ("Maria Lindholm", "HAS", "wife") not in found
    found = stated(extract("Anna Keller was there. The owner, Marco Andreis, keeps bees. His honey won a prize."))
    assert ("Marco Andreis", "HAS", "honey") in found


def test_half_of_a_name_at_the_beginning_of_a_sentence() -> None:
    found = extract("Priya Nair and Tomasz Wolski were present.\n\nTomasz doubted that the firm can start before the autumn.")
    assert "tomasz" not in labels(found)
    wolski = labels(found)["Tomasz Wolski"]
    assert [one.quote for one in found.instances if one.concept_key == wolski.key] == ["Tomasz Wolski", "Tomasz"]


def test_a_short_name_that_the_text_gives() -> None:
    text = (
        'This Agreement is made between Northgate Data Services Ltd, a firm registered in England ("Northgate"), and Velo Rentals'
        ' GmbH (the "Client"). Northgate shall operate the platform of the Client.'
    )
    found = labels(extract(text))
    assert found["Northgate Data Services Ltd"].search_terms == ("Northgate",)
    assert "Northgate" not in found
    assert not any("Client" in one.search_terms for one in found.values())


def test_numbering_units_and_numbers_of_other_things_are_no_concepts() -> None:
    text = (
        "## 1. Quotations of the builder\n\nThe quotations were read.\n\n1.1 Northgate may engage builders.\n\n"
        "It supplies up to 5 kW. Then 2 mL of extract were mixed. A crash (#3821) was fixed. The fee is EUR 7,400 a month.\n"
    )
    found = labels(extract(text))
    assert not {"1", "1.", "1.1", "kW", "kW.", "mL", "3821", "Quotations"} & set(found)
    assert "quotations" in found
    assert all(one.type == "quantity" for label, one in found.items() if "7,400" in label)
    assert "1.1" not in prose("1.1 Northgate may engage builders.")
    assert "4.2" in prose("It grew to\n4.2 million.\n")


def test_words_with_a_hyphen_are_whole() -> None:
    found = set(labels(extract("Subject: Post-mortem: outage of the service\n\nThe on-disk format is the same.")))
    assert {"Post-mortem", "on-disk format"} <= found
    assert not {"Post", "mortem", "disk"} & found


def test_a_heading_in_capitals_that_the_text_has_in_small_letters() -> None:
    found = labels(extract("FEES\n\nThe client pays a fee each month.\n\nNATO\n\nThe treaty is old."))
    assert "FEES" not in found
    assert found["NATO"].type != "concept"


def test_what_a_name_looks_like_says_whose_it_is() -> None:
    found = labels(extract("The JDBC driver leaked. J. Okafor will put up a notice. The SolarShare S10 keeps its capacity."))
    assert found["JDBC"].type != "person"
    assert found["J. Okafor"].type == "person"
    assert found["SolarShare S10"].type == "product"
    dates = {one.label for one in extract("Date: Fri, 7 Feb 2025 09:14\n\nIt began.").concepts if one.type == "date"}
    assert "7 Feb 2025" in dates
