"""Texts that are not English, and what is said of those that nobody reads here."""

from __future__ import annotations

import re

import pytest

from kg.local.extractor import LocalExtractor
from tests.kg.extracting import extract, labels


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
