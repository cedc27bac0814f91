"""What is on a printed page besides its text, and what of it is text."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from kg.documents.parsers.hyphens import join_words
from kg.documents.parsers.pdf import PdfParser
from kg.documents.parsers.running_heads import Leaf, Margin, without_heads
from tests.kg import files

Line = tuple[float, float, float, str]  # x, y, size, text


def drawn(*pages: Sequence[Line], catalog: str = "", page: str = "", more: Sequence[str] = ()) -> bytes:
    """Pages with their lines at exact places. `more` are objects, from number 4 on, that `catalog` and `page` may name."""
    objects = ["", "", "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>", *more]
    kids = []
    for lines in pages:
        stream = "".join(f"BT /F1 {size} Tf 1 0 0 1 {x} {y} Tm {_shown(text)} ET\n" for x, y, size, text in lines)
        kids.append(f"{len(objects) + 1} 0 R")
        objects += [
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {len(objects) + 2} 0 R {page} >>",
            f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream",
        ]
    objects[0] = f"<< /Type /Catalog /Pages 2 0 R {catalog} >>"
    objects[1] = f"<< /Type /Pages /Count {len(kids)} /Kids [{' '.join(kids)}] >>"
    return files.pdf_of([one.encode("latin-1") for one in objects])


def _shown(text: str) -> str:
    return f"{text} TJ" if text.startswith("[") else f"({text}) Tj"


def text_of(data: bytes) -> str:
    return PdfParser().parse(data, "a.pdf").text


def book(count: int, head: str = "Gears of Antiquity", size: float = 9) -> list[list[Line]]:
    """Each page's last sentence goes on on the next one; the foot is drawn before the text, as many programs do."""
    return [
        [
            (72, 760, size, head),
            (300, 30, 9, f"- {number + 10} -"),
            (72, 700, 11, f"of page {number} it says that bronze wheels"),
            (72, 686, 11, f"turned {number} times a year. And the next"),
        ]
        for number in range(count)
    ]


# Running heads


@pytest.mark.parametrize("count", [2, 3, 12])
def test_running_heads_do_not_stand_in_sentences(count: int) -> None:
    found = text_of(drawn(*book(count)))
    assert found.count("Gears of Antiquity") == 1
    assert "- 1" not in found
    assert "And the next\nof page 1 it says" in found
    assert all(f"turned {number} times" in found for number in range(count))


def test_a_head_that_the_text_has_anyway_is_not_kept() -> None:
    first, *others = book(4)
    found = text_of(drawn([(72, 600, 24, "Gears of Antiquity"), *first], *others))
    assert found.count("Gears of Antiquity") == 1


def test_heads_of_left_and_right_pages() -> None:
    pages = book(8)
    for number, page in enumerate(pages):
        page[0] = (72, 760, 9, "Gears of Antiquity" if number % 2 else "Chapter One")
        page.insert(1, (500, 760, 9, str(number + 10)))
    found = text_of(drawn(*pages))
    assert (found.count("Gears of Antiquity"), found.count("Chapter One")) == (1, 1)


def test_a_head_and_a_number_at_both_ends_of_one_line() -> None:
    pages = book(4)
    for number, page in enumerate(pages):
        page[0] = (72, 760, 9, f"[(Gears of Antiquity) -30000 ({number + 10})]")  # as TeX does
    assert text_of(drawn(*pages)).count("Gears") == 1


def test_large_titles_of_slides_stay() -> None:
    found = text_of(drawn(*book(4, "Results", size=28)))
    assert found.count("Results") == 4


def test_lines_that_differ_in_a_number_of_their_own_stay() -> None:
    pages = [[(72, 760, 11, f"Figure {number * number + 3}"), (72, 600, 11, "See above.")] for number in range(5)]
    found = text_of(drawn(*pages))
    assert found.count("Figure") == 5
    assert found.count("See above.") == 5  # not in the margin


def test_numbers_that_count_with_the_pages_but_are_not_theirs() -> None:
    pages = [[(72, 760, 11, f"Invoice {number}"), (72, 600, 11, f"It is for {number} wheels.")] for number in range(5)]
    assert text_of(drawn(*pages)).count("Invoice") == 5


def test_a_page_s_number_is_not_the_one_in_a_table() -> None:
    pages = book(5)
    pages[2].insert(3, (72, 600, 11, "- 12 -"))
    assert "bronze wheels\n- 12 -\nturned 2 times" in text_of(drawn(*pages))


def test_nothing_but_heads_is_kept() -> None:
    leaves = [Leaf([str(number)], [Margin("b", str(number))]) for number in range(1, 5)]
    assert without_heads(leaves) == [["1"], ["2"], ["3"], ["4"]]


def test_numbers_in_roman_letters() -> None:
    leaves = [Leaf([sign, "Text"], [Margin("b", sign)]) for sign in ("ii", "iii", "iv", "v")]
    assert without_heads(leaves) == [["Text"]] * 4


def test_no_line_of_the_text_is_lost() -> None:
    made = random.Random(7)
    for _ in range(50):
        leaves = [
            Leaf([head, *(f"line {made.random()}" for _ in range(3)), str(number)], [Margin("t", head), Margin("b", str(number))])
            for number in range(made.randint(1, 9))
            for head in [made.choice("ABC") * 5]
        ]
        kept = without_heads(leaves)
        for leaf, lines in zip(leaves, kept, strict=True):
            assert lines[-4:-1] == leaf.lines[1:4] or [one for one in lines if one.startswith("line")] == leaf.lines[1:4]
        assert {leaf.lines[0] for leaf in leaves} <= {line for lines in kept for line in lines}


# Words


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("the develop-\nment", "the development"),
        ("the develop\u0002ment", "the development"),
        ("a well\ufffeknown one, as well-known", "a well-known one, as well-known"),
        ("a well-\nknown one", "a wellknown one"),
        ("state-of-the-\nart", "state-of-the-art"),
        ("Anglo-\nSaxon 1914-\n1918", "Anglo-Saxon 1914-1918"),
        ("re-\nformed, reformed, re-formed", "reformed, reformed, re-formed"),
        ("пере-\nнос", "перенос"),
        ("co\u00ad\noperate", "cooperate"),
        ("a list:\n- one\n- two -\nthree", "a list:\n- one\n- two -\nthree"),
        ("a-\n" * 3, "aaa-\n"),
    ],
)
def test_words_that_were_divided(given: str, read: str) -> None:
    assert join_words(given) == read


def test_many_divided_words_take_no_longer_than_their_length() -> None:
    assert join_words("x" * 300_000 + "-\n" + "y" * 300_000 + " ab-\ncd" * 20_000).endswith("abcd abcd")


def test_lines_that_run_upwards_are_not_glued() -> None:
    lines = "".join(f"BT /F1 11 Tf 0 1 -1 0 {200 + 14 * place} 100 Tm (row {place} ends) Tj ET\n" for place in range(4))
    data = drawn([(72, 700, 11, "Above")]).replace(b"BT /F1 11", lines.encode() + b"BT /F1 11", 1)
    assert "row 0 ends\nrow 1 ends\nrow 2 ends\nrow 3 ends" in text_of(data)


# What was written on it


def test_what_was_filled_into_a_form() -> None:
    box = "/Type /Annot /Subtype /Widget /FT /Tx /Rect [200 600 400 620]"
    data = drawn(
        [(72, 700, 11, "Application")],
        catalog="/AcroForm << /Fields [4 0 R 5 0 R 6 0 R 7 0 R] >>",
        page="/Annots [4 0 R 5 0 R 6 0 R 7 0 R]",
        more=[
            f"<< {box} /T (a) /TU (Name) /V (Ada Lovelace) >>",
            f"<< {box} /T (b) /V (London) >>",
            f"<< {box} /T (c) /V () >>",
            f"<< {box} /T (d) /Ff 8192 /V (secret) >>",
        ],
    )
    assert text_of(data) == "Application\nName: Ada Lovelace\nLondon"


def test_notes_and_attached_files_are_told() -> None:
    data = drawn(
        [(72, 700, 11, "A page.")],
        catalog="/Names << /EmbeddedFiles << /Names [(x) 6 0 R] >> >>",
        page="/Annots [4 0 R 5 0 R]",
        more=[
            "<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (I doubt it) >>",
            "<< /Type /Annot /Subtype /FreeText /Rect [0 0 9 9] /Contents (Typed on it) >>",
            "<< /Type /Filespec /F (x) /EF << /F 7 0 R >> >>",
            "<< /Type /EmbeddedFile /Length 1 >>\nstream\nx\nendstream",
        ],
    )
    found = PdfParser().parse(data, "a.pdf")
    assert found.text == "A page.\nTyped on it" or found.text == "A page.\n\nTyped on it"
    assert found.warnings == (
        "notes that readers have put on its pages are left out: 1", "files that are attached to it are left out: 1",
    )  # fmt: skip


@pytest.mark.parametrize(("said", "title"), [("untitled", ""), ("Microsoft Word - Gears.docx", "Gears.docx"), ("Gears", "Gears")])
def test_titles_that_programs_give(said: str, title: str) -> None:
    assert PdfParser().parse(files.pdf(["x"], title=said), "a.pdf").title == title
