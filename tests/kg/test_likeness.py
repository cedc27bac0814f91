"""Names: their normal form, their initials, and whether two are one thing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kg.graph.acronyms import abbreviates
from kg.graph.likeness import Named, Verdict, acronyms, form, in_text, lookups, rivals, score, verdict
from kg.graph.vetoes import vetoed


def name(label: str, type: str = "", *aliases: str) -> Named:
    return Named(form(label), label, type, frozenset(aliases))


def judge(a: Named, b: Named, cosine: float | None = None) -> str:
    one, other = verdict(a, b, cosine), verdict(b, a, cosine)
    assert one == other
    return one.outcome


@pytest.mark.parametrize(
    ("label", "expected"),
    [
        ("U.S.", "us"),
        ("the United States", "united states"),
        ("The Beatles", "beatles"),
        ("Mediaș", "medias"),
        ("İstanbul", "istanbul"),
        ("Łódź", "lodz"),
        ("ﬁle systems", "file system"),
        ("policies", "policy"),
        ("APIs", "api"),
        ("Tiger Woods", "tiger woods"),  # a name has no plural
        ("1990s", "1990s"),
        ("C++", "c++"),
        ("C#", "c#"),
        (".NET", ".net"),
        ("AT&T", "at and t"),
        ("Bangladesh’", "bangladesh"),
        ("Morris & Co. 's", "morris and co"),
        ("Python 3.11", "python 3.11"),
        ("Nexus \xa0 Q", "nexus q"),
        ("ደቡብ ጎንደር", "ደቡብ ጎንደር"),
        ("が", "が"),  # not か: the mark is another sound there
        ("!!!", "!!!"),
        ("The", "the"),
        ("", ""),
    ],
)
def test_forms(label: str, expected: str) -> None:
    assert form(label) == expected


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_a_form_is_bounded_and_has_one_space_between_words(label: str) -> None:
    made = form(label)
    assert len(made) <= 300
    assert made == " ".join(made.split())
    assert bool(made) == bool(label.split()) or not made


def test_what_a_person_writes_in_small_letters_finds_the_name() -> None:
    assert form("United States") in lookups("united states")
    assert form("databases") in lookups("databases")


def test_a_huge_label_costs_little() -> None:
    assert len(form("a.b." * 1_000_000)) <= 300
    assert acronyms("Very Long " * 100_000) == set()


def test_acronyms() -> None:
    assert "jama" in acronyms("Journal of the American Medical Association")
    assert "dod" in acronyms("Department of Defense")
    assert "us" in acronyms("the United States")
    assert acronyms("JAMA") == set()


@pytest.mark.parametrize(
    ("short", "long", "expected"),
    [
        ("ASEAN", "Association of Southeast Asian Nations", True),
        ("SLASPA", "Saint Lucia Air and Seaports Authority", True),
        ("RCP", "Revolutionary Communist Party, USA", True),
        ("TMF", "The Music Factory", True),
        ("AFC", "Africa Cup", False),  # two words give no three letters
        ("CEO", "Charles Edouard", False),
        ("RCP", "Revolutionary Communist Party of the United States", False),  # too many words that give none
        ("ABCDEFGHIJ", "Ab Cd", False),
        ("NBA", "Bureau of North Africa", False),  # in another order
        ("", "Association", False),
    ],
)
def test_abbreviations(short: str, long: str, expected: bool) -> None:
    assert abbreviates(form(short), long) is expected


def test_hostile_abbreviations_cost_little() -> None:
    assert not abbreviates("aaaaaaaaab", "aaaaaaaaaa " * 1000)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("American", "U.S."), ("UK", "British"), ("Afghan", "Afghanistan"), ("Ghana", "Ghanaian"), ("Uzbek", "Uzbekistan"),
        ("South Australia", "South Australian"), ("Vietnam", "Vietnamese"),
    ],
)  # fmt: skip
def test_peoples_and_their_places(one: str, other: str) -> None:
    assert judge(name(one, "place"), name(other, "place")) == "proposed"
    assert judge(name(one, "place"), name("Peru", "place")) == "apart"


def test_what_a_place_is_tells_nothing_and_what_is_there_much() -> None:
    assert judge(name("Hubei", "place"), name("Hubei Province", "place")) == "proposed"
    assert judge(name("Hubei", "place"), name("Hubei Airport", "place")) == "apart"
    assert judge(name("South Sudan", "place"), name("Sudan", "place")) == "apart"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Mortal Kombat", "Mortal Kombat II"),
        ("Mortal Kombat 2", "Mortal Kombat III"),
        ("Python 2", "Python 3"),
        ("Python 3.11", "Python 3.12"),
        ("GPT-4", "GPT-4o"),
        ("HTTP/1.1", "HTTP/2"),
        ("Hepatitis A", "Hepatitis B"),
        ("Hepatitis", "Hepatitis B"),
        ("North Korea", "South Korea"),
        ("Northern Ireland", "Southern Ireland"),
        ("First World War", "Second World War"),
        ("Paul Desmarais Jr.", "Paul Desmarais Sr."),
        ("March 1978", "July 1978"),
    ],
)
def test_vetoes(one: str, other: str) -> None:
    assert vetoed(one, other)
    assert vetoed(other, one)
    assert verdict(name(one), name(other), 0.99) == Verdict("apart", 0.0)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Second World War", "World War II"), ("World War 2", "World War II"), ("U.S.", "United States"), ("2nd Army", "Second Army")],
)
def test_no_veto_where_the_number_is_the_same(one: str, other: str) -> None:
    assert not vetoed(one, other)


def test_same() -> None:
    assert judge(name("the United States"), name("United States")) == "same"
    assert judge(name("Taito"), name("Taito Corporation", "organization")) == "same"
    assert judge(name("e-mail"), name("email")) == "same"
    assert judge(name("Dr. Jane Doe", "person"), name("Jane Doe", "person")) == "same"
    assert judge(name("Protestants", "group"), name("Protestant", "group")) == "same"


def test_a_text_that_gives_the_acronym_makes_it_sure() -> None:
    full = "Journal of the American Medical Association"
    assert judge(name("JAMA"), name(full, "work", "JAMA"), 0.07) == "same"
    assert judge(name("JAMA"), name(full, "work"), 0.07) == "proposed"


def test_likely_is_proposed() -> None:
    assert judge(name("Zola", "person"), name("Émile Zola", "person")) == "proposed"
    assert judge(name("N. C. Wyeth", "person"), name("Newell Convers Wyeth", "person")) == "proposed"
    assert judge(name("Vietnam", "place"), name("Vietnamese", "place"), 0.73) == "proposed"
    assert judge(name("Spurs", "organization"), name("San Antonio Spurs", "organization")) == "proposed"


def test_apart() -> None:
    assert judge(name("Washington", "person"), name("Washington", "place")) == "apart"
    assert judge(name("Diocese of Pittsburgh", "place"), name("Pittsburgh", "place"), 0.8) == "apart"
    assert judge(name("maintenance lane"), name("lane"), 0.8) == "apart"
    assert judge(name("William", "person"), name("Robert", "person"), 0.6) == "apart"
    assert judge(name("1971", "date"), name("February 2, 1971", "date"), 0.9) == "apart"


def test_a_near_vector_alone_makes_no_merge() -> None:
    assert judge(name("Suzhou", "place"), name("Fuzhou", "place"), 0.99) != "same"
    assert judge(name("physician"), name("doctor"), 0.97) == "proposed"


def test_a_name_with_several_bearers_is_worth_less() -> None:
    surname, full = name("Puskás", "person"), name("Ferenc Puskás", "person")
    count = rivals(surname.form, full.form, frozenset({"puskas", "ferenc puskas", "tivadar puskas", "lajos puskas"}))
    assert count == 2
    assert in_text(surname, full, frozenset({"ferenc puskas", "tivadar puskas"})) < in_text(surname, full, frozenset())
    assert in_text(surname, full, frozenset({"puskas", "ferenc puskas"}), 0.8) == score(surname, full, 0.8)
    assert rivals("puskas", "ferenc puskas", frozenset({"ferenc puskas biro"})) == 0  # the same one, longer


labels = st.text(alphabet="abIVX2 .-'sBé", max_size=14)


@settings(max_examples=300, deadline=None)
@given(labels, labels, st.sampled_from(["", "person", "place", "date"]), st.none() | st.floats(-1, 1))
def test_symmetric_and_bounded(one: str, other: str, type: str, cosine: float | None) -> None:
    a, b = name(one, type), name(other)
    assert verdict(a, b, cosine) == verdict(b, a, cosine)
    assert 0 <= verdict(a, b, cosine).score <= 1
    assert verdict(a, a, cosine).outcome == "same"
