"""Who does what, and who is who: what the local extractor states."""

from __future__ import annotations

from kg.local.cleaning import prose
from tests.kg.extracting import extract, labels, stated


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
