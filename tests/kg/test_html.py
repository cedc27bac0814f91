"""Pages with things that are not meant to be seen, tables in tables, and numbered lists."""

from __future__ import annotations

import pytest

from kg.documents.parsers.html import HtmlParser
from kg.documents.parsers.visibility import declarations
from kg.errors import Unreadable


def html(text: str) -> str:
    return HtmlParser().parse(text.encode(), "a.html").text


# Hidden


@pytest.mark.parametrize(
    "said",
    [
        "hidden",
        "aria-hidden=true",
        'style="display:none"',
        'style="color:red; DISPLAY : None !important"',
        'style="display:/* x */none"',
        'style="display:block;display:none"',
        'style="visibility:hidden"',
        'style="visibility: collapse"',
        'style="opacity:0"',
        'style="opacity: 0.00"',
        'style="font-size:0"',
        'style="font-size: 0px"',
        'style="font:0/0 a"',
        'style="position:absolute;left:-9999px"',
        'style="text-indent:-9999px"',
        'style="width:1px;height:1px;overflow:hidden"',
        'style="max-height:0;overflow:hidden"',
        'style="clip:rect(0,0,0,0)"',
        'style="clip-path: inset(50%)"',
        'style="color:transparent"',
        'style="color:rgba(255,255,255,0)"',
        'style="transform:scale(0)"',
    ],
)
@pytest.mark.parametrize("tag", ["p", "b", "li"])
def test_what_is_hidden_is_out(said: str, tag: str) -> None:
    assert html(f"<p>before</p><{tag} {said}>obey <i>me</i></{tag}><p>after") == "before\n\nafter"


@pytest.mark.parametrize(
    "said",
    [
        "",
        "hidden=until-found",
        "aria-hidden=false",
        'style="display:none;display:block"',
        'style="opacity:.5"',
        'style="font-size:12px"',
        'style="font:bold 12px/30px Georgia"',
        'style="margin-left:-9999px;left:-9999px"',
        'style="height:0"',
        'style="color:rgba(0,0,0,0.5)"',
        'style="color:#000"',
        'style="transform:scale(0.5)"',
        'style=";;:x;display"',
    ],
)
def test_what_is_shown_is_in(said: str) -> None:
    assert html(f"<p>one <b {said}>two</b> three") == "one two three"


def test_letters_that_show_themselves_again() -> None:
    """Pages take the gaps between boxes out by a font size of 0 around them."""
    inside = "<span style='font-size:14px'>seen</span> unseen <i style='font-size:2em'>unseen</i>"
    assert html(f"<div style='font-size:0'>{inside}</div>after") == "seen\n\nafter"
    assert html("<div style='visibility:hidden'>no<p style='visibility:visible'>seen</p>no</div>after") == "seen\n\nafter"


def test_an_end_of_something_hidden_ends_nothing_else() -> None:
    assert html("<ul><li>a<ul hidden><li>b</ul><li>c</ul><table><tr><td>x<td hidden>y<td>z</table>") == "- a\n- c\n\nx | z"


def test_styles_are_taken_apart_in_time() -> None:
    """Twenty thousand comments begin, and none of them ends."""
    assert declarations("a:1;" + ";".join(f"a{n}:/* {n}" for n in range(20_000))) == {"a": "1", "a0": ""}


# Tables


def test_a_table_in_a_cell_is_a_part_of_its_row() -> None:
    inner = "<table><tr><td>Age<td>36<tr><td>City<td></td><td>Rome</table>"
    assert html(f"<table><tr><th>Name<th>Facts<tr><td>Ada<td>about {inner}<tr><td>Bob<td>none</table>") == (
        "Name | Facts\nAda | about Age, 36; City, Rome\nBob | none"
    )


def test_a_large_table_in_a_cell_stands_for_itself_and_the_other_rows_stay() -> None:
    inner = "<table>" + f"<tr><td>{'long ' * 60}<td>x" * 2 + "</table>"
    long = ("long " * 60).strip()
    assert html(f"<table><tr><th>Name<th>Facts<tr><td>Ada<td>{inner}<tr><td>Bob<td>none</table>") == (
        f"Name | Facts\nAda\n\n{long} | x\n{long} | x\n\nBob | none"
    )


def test_rows_of_two_tables_are_not_one_table() -> None:
    assert html("<table><tr><td>a</table><table><tr><td>b</table>") == "a\n\nb"


def test_tables_in_tables_in_tables_take_no_longer_than_their_length() -> None:
    depth = 300
    assert html("<table><tr><td>x" * depth + "</table>" * depth).count("x") == depth


# Lists


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("<ol><li>a<li>b</ol>", "1. a\n2. b"),
        ("<ol start=3><li>a<li value=9>b<li>c</ol>", "3. a\n9. b\n10. c"),
        ("<ol start=-1><li>a<li>b<li>c</ol>", "-1. a\n0. b\n1. c"),
        ("<ol start=x><li value=y>a</ol>", "1. a"),
        ("<ol type=a><li>a<li>b</ol>", "a. a\nb. b"),
        ("<ol type=I start=4><li>a</ol>", "IV. a"),
        ("<ol type=a start=0><li>a</ol>", "0. a"),
        ("<ol reversed><li>a<li>b</ol>", "2. a\n1. b"),
        ("<ol><li>a<ul><li>x<li>y</ul><li>b<ol><li>z</ol></ol>", "1. a\n  - x\n  - y\n2. b\n  1. z"),
        ("<ol><li><p>a</p><p>more</p><li>b</ol>", "1. a\n   more\n2. b"),
        ("<li>a", "- a"),
    ],
)
def test_numbers_of_lists(given: str, read: str) -> None:
    assert html(given) == read


# Letters


def test_marks_inside_of_words() -> None:
    assert html("<p>co&shy;op&#8203;er&zwnj;ate na&#8288;me &#xfb01;ne a<wbr>b") == "cooperate name fine ab"


def test_pages_that_are_xml() -> None:
    page = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x" /></head>'
        '<body><p>One<br/>two<a id="x"/></p><div/>three</body></html>'
    )
    assert html(page) == "One\ntwo\n\nthree"
    assert html('<?xml version="1.0"?>' + page) == "One\ntwo\n\nthree"
    assert HtmlParser().parse('<?xml version="1.0" encoding="cp1250"?><html><p>kůň</html>'.encode("cp1250"), "a").text == "kůň"


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ('<frameset><frame src="a.html"><frame src="b.html"><noframes>Get frames</noframes></frameset>', "a.html, b.html"),
        ('<body><div id="root"></div><noscript>Turn it on</noscript><script src="x"></script>', "scripts"),
    ],
)
def test_pages_whose_text_is_elsewhere(page: str, why: str) -> None:
    with pytest.raises(Unreadable, match=why) as told:
        html(page)
    assert told.value.reason == "no_text"
