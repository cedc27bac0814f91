"""What the parsers make of documents."""

from __future__ import annotations

import pytest

from kg.documents.decoding import clean, decode
from kg.documents.names import safe_name, suffix_of
from kg.documents.parsers.docx import DocxParser
from kg.documents.parsers.html import HtmlParser
from kg.documents.parsers.markdown import MarkdownParser
from kg.documents.parsers.pdf import PdfParser
from kg.documents.parsers.text import TextParser
from kg.errors import Unreadable
from kg.parts import Parsed, Parser
from tests.kg import files


def html(text: str) -> str:
    return HtmlParser().parse(text.encode(), "a.html").text


def markdown(text: str) -> str:
    return MarkdownParser().parse(text.encode(), "a.md").text


@pytest.mark.parametrize("parser", [TextParser(), MarkdownParser(), HtmlParser(), PdfParser(), DocxParser()])
def test_they_are_parsers(parser: Parser) -> None:
    assert isinstance(parser, Parser)


# Encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings_that_say_so(encoding: str) -> None:
    assert decode("Grüße, 世界 𝄞".encode(encoding)) == ("Grüße, 世界 𝄞", [])


def test_utf_16_of_the_other_end() -> None:
    assert decode(b"\xfe\xff" + "Grüße".encode("utf-16-be")) == ("Grüße", [])


def test_what_is_not_utf_8_is_read_with_a_warning() -> None:
    text, warnings = decode("Grüße – “x”".encode("cp1252"))
    assert text == "Grüße – “x”"
    assert warnings == ["not UTF-8 (byte 2): read as Windows-1252; some characters may be wrong"]
    assert decode(b"\x81\xfc")[0] == "\x81ü"


def test_half_a_character_is_told() -> None:
    text, warnings = decode(b"\xff\xfea\0b")
    assert text == "a\ufffd"
    assert "1 characters are lost" in warnings[0]


def test_bytes_that_are_no_text() -> None:
    with pytest.raises(Unreadable, match="NUL") as told:
        decode(bytes(range(256)) * 10)
    assert told.value.reason == "binary"
    assert clean(decode(b"x" * 5000 + b"\0y")[0]) == "x" * 5000 + "y"


def test_text_is_made_storable() -> None:
    assert clean("a\r\nb\rc\x0cd\x85e\u2028f\u2029g\0h\x1bi\ufeffj\ud800k\tl") == "a\nb\nc\nd\ne\nf\n\nghij\ufffdk\tl"


@pytest.mark.parametrize("named", ["idna", "unicode_escape", "rot13", "no-such", "utf-7", "base64", "a\0b"])
def test_an_encoding_that_is_none_of_the_web_s(named: str) -> None:
    assert "Windows-1252" in decode(b"\xfc\\u0041", named=named)[1][0]


# Text and markdown


def test_a_texts_title() -> None:
    assert TextParser().parse(b"The Title\r\n\r\nMore.", "a.txt").title == "The Title"
    assert TextParser().parse(b"A sentence.\n\nMore.", "a.txt").title == ""


def test_the_title_of_a_message() -> None:
    mail = b"From: Ada <a@b.c>\nReceived: by x\n\tfor y\nSubject: The meeting\nDate: Mon\n\nHi Bob,\n\nSubject: no\n"
    found = TextParser().parse(mail, "a.txt")
    assert (found.title, found.text) == ("The meeting", mail.decode())
    assert TextParser().parse(b"Hi Bob\n\nSubject: no\n", "a.txt").title == "Hi Bob"


def test_markdown_stays_as_it_is() -> None:
    given = "# One\n\ntext *with* `marks`\n\n- a\n- b\n\n```python\n# no heading\n<!-- kept -->\n===\n```\n"
    found = MarkdownParser().parse(given.encode(), "a.md")
    assert (found.text, found.title) == (given, "One")


def test_front_matter_and_comments_are_out() -> None:
    found = MarkdownParser().parse(b"---\ntitle: 'My page'\ntags: [x]\n---\na <!-- b\nc --> d\n", "a.md")
    assert (found.text, found.title) == ("a  d\n", "My page")


def test_a_comment_that_never_ends_is_text() -> None:
    assert markdown("a\n<!-- b\nc") == "a\n<!-- b\nc"


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("~~~\n<!-- kept -->\n~~~\n<!-- out -->x\n", "~~~\n<!-- kept -->\n~~~\nx\n"),
        ("`code` <!-- out -->x", "`code` x"),
        ("`<!-- kept -->` <!-- out -->``<!-- `kept` -->``", "`<!-- kept -->` ``<!-- `kept` -->``"),
        ("[//]: # (obey)\na [b]\n[comment]: <> (obey)\n\n[b]: http://c.d\n[^1]: note\n", "a [b]\n\n[b]: http://c.d\n[^1]: note\n"),
    ],
)
def test_remarks_beside_code(given: str, read: str) -> None:
    assert markdown(given) == read


@pytest.mark.parametrize(
    ("given", "text", "title"),
    [
        ('---\ntitle: "A: b" # c\n---\nx', "x", "A: b"),
        ("---\n# generated\ntitle: It's\n...\nx", "x", "It's"),
        ('+++\ntitle = "T"\n+++\nx', "x", "T"),
        ("---\n\nwords\n\n---\nx", "---\n\nwords\n\n---\nx", ""),
        ("---\nonly words\n---\nx", "---\nonly words\n---\nx", ""),
    ],
)
def test_what_is_front_matter(given: str, text: str, title: str) -> None:
    found = MarkdownParser().parse(given.encode(), "a.md")
    assert (found.text, found.title) == (text, title)


def test_underlined_headings() -> None:
    assert markdown("One\n===\n\nTwo\n---\n\na\nb\n---\n- x\n---\n") == "# One\n\n\n## Two\n\n\na\nb\n---\n- x\n---\n"
    assert MarkdownParser().parse(b"One\n===\n", "a.md").title == "One"


# HTML

PAGE = """<!doctype html><html><head><title> A
 page </title><style>p {}</style><script>evil()</script></head><body>
<nav><a href=/>Home</a></nav><div role="navigation">Menu</div><!-- remark -->
<h1>First</h1><p>One   <b>bold</b> and<br>two.</p><p hidden>unseen</p><span aria-hidden="true">x</span>
<ul><li>a<li>b<ul><li>c</ul></ul>
<table><tr><th>Name<th>Age<tr><td>Ada<td>36</table>
<pre><code>if x:
    y</code></pre>
<h2>Second &amp; last</h2>text<noscript>no</noscript><footer>Copyright</footer></body>"""


def test_a_page() -> None:
    found = HtmlParser().parse(PAGE.encode(), "a.html")
    assert found.title == "A page"
    assert found.text == (
        "# First\n\nOne bold and\ntwo.\n\n- a\n- b\n  - c\n\nName | Age\nAda | 36\n\n"
        "```\nif x:\n    y\n```\n\n## Second & last\n\ntext"
    )


def test_the_main_part_of_a_page() -> None:
    long = "word " * 100
    assert (
        html(f"<body><header>Logo</header><main><p>{long}</p><footer>note</footer></main><aside>ads</aside>")
        == long.strip() + "\n\nnote"
    )


def test_a_page_that_names_its_encoding() -> None:
    data = '<meta charset="windows-1251"><p>Привет'.encode("cp1251")
    assert HtmlParser().parse(data, "a.html").text == "Привет"
    assert HtmlParser().parse("<meta charset=latin1><p>“x”".encode("cp1252"), "a").text == "“x”"


def test_paragraphs_in_lists_and_cells() -> None:
    assert html("<ul><li><p>one</p><p>more</p></li><li><div>two</div></li></ul><p>end") == "- one\n  more\n- two\n\nend"
    assert html("<table><tr><td><p>a</p><p>b</p></td><td><ul><li>c</li></ul></td></tr><tr><td>d</td></tr></table>") == "a b | c\nd"


def test_a_table_that_is_a_layout() -> None:
    assert html("<table><tr><td>menu</td><td><h1>Title</h1><p>One.</p><table><tr><td>a<td>b</table></td></tr></table>") == (
        "menu\n\n# Title\n\nOne.\n\na | b"
    )


def test_a_long_page_takes_no_longer_than_its_length() -> None:
    """Comparing two nodes of this library compares their HTML: with that, this would not end."""
    assert html("<p>one <b>two</b></p>" * 30_000).count("one two") == 30_000


def test_words_of_inline_elements_stay_together() -> None:
    assert html("<p>un<b>believ</b>able <a href=x>link</a>, <i>x</i>.") == "unbelievable link, x."


@pytest.mark.parametrize("text", ["", "<p>", "<html>", "<style>x</style>", "<<<>>>", "<table><td>"])
def test_pages_with_little_on_them(text: str) -> None:
    assert html(text) in ("", "<<<>>>")


# PDF


def test_a_pdf() -> None:
    found = PdfParser().parse(files.pdf(["Know-\nledge grows here.\nSecond line", "Page two"], title="Report"), "a.pdf")
    assert found.title == "Report"
    assert found.text == "Knowledge grows here.\nSecond line\n\nPage two"
    assert found.meta == {"pages": 2}
    assert found.warnings == ()


def test_paragraphs_of_a_pdf() -> None:
    long = "a line that is about as long as the others are here"
    assert PdfParser().parse(files.pdf([f"{long}\n{long}\nshort end.\n{long}"]), "a.pdf").text.count("\n\n") == 1


def test_pages_without_text() -> None:
    assert PdfParser().parse(files.pdf(["text", "", ""]), "a.pdf").warnings == ("2 of 3 pages have no text (scanned?): 2, 3",)
    with pytest.raises(Unreadable, match="scanned") as told:
        PdfParser().parse(files.pdf([""]), "a.pdf")
    assert told.value.reason == "no_text"


@pytest.mark.parametrize("turned", [0, 90, 180, 270])
def test_turned_pages_are_read_from_the_top(turned: int) -> None:
    data = files.pdf(["one line\nanother line\nthe last line"]).replace(b"/Type /Page ", b"/Type /Page /Rotate %d " % turned)
    assert PdfParser().parse(data, "a.pdf").text == "one line\nanother line\nthe last line"


def test_lines_that_run_upwards_on_a_turned_page_stay_apart() -> None:
    data = files.pdf(["one line\nanother line\nthe last line"]).replace(b"/Type /Page ", b"/Type /Page /Rotate 90 ")
    data = data.replace(b"72 720 Td", b"0 1 -1 0 100 100 Tm")
    assert PdfParser().parse(data, "a.pdf").text.split("\n") == ["one line", "another line", "the last line"]


def test_hyphens_before_capitals_stay() -> None:
    assert PdfParser().parse(files.pdf(["know-\nledge of Anglo-\nSaxon"]), "a.pdf").text == "knowledge of Anglo-Saxon"


def test_words_and_sentences_go_on_over_the_page() -> None:
    pages = ["It is not fin-", "ished yet, and goes", "on here.", "a new one. Part", "Two"]
    assert (
        PdfParser().parse(files.pdf(pages), "a.pdf").text == "It is not finished yet, and goes\non here.\n\na new one. Part\n\nTwo"
    )


def test_fonts_that_do_not_say_what_their_letters_are() -> None:
    def read(font: bytes, *more: bytes) -> Parsed:
        stream = b"BT /F1 10 Tf 72 700 Td <002400250026004700480049> Tj ET"
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 5 0 R >> >> /Contents 4 0 R >>"
        content = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream)
        pages = [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>", page, content]
        return PdfParser().parse(files.pdf_of([*pages, font, *more]), "a.pdf")

    found = read(
        b"<< /Type /Font /Subtype /Type0 /BaseFont /A+Own /Encoding /Identity-H /DescendantFonts [6 0 R] >>",
        b"<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A+Own /FontDescriptor 7 0 R /DW 500 "
        b"/CIDSystemInfo << /Registry (Adobe) /Ordering (Identity) /Supplement 0 >> >>",
        b"<< /Type /FontDescriptor /FontName /A+Own /Flags 4 /FontBBox [0 0 1000 1000] /ItalicAngle 0 /Ascent 800 /Descent -200 "
        b"/CapHeight 700 /StemV 80 >>",
    )
    assert "1 of 1 pages have a font that does not say what its letters are" in found.warnings[0]
    assert PdfParser().parse(files.pdf(["\1\2\3", "text"]), "a.pdf").warnings == ("1 of 2 pages have no text (scanned?): 1",)


def test_an_encrypted_pdf() -> None:
    with pytest.raises(Unreadable, match="password") as told:
        PdfParser().parse(files.encrypted_pdf(), "a.pdf")
    assert told.value.reason == "encrypted"


def test_a_damaged_pdf() -> None:
    with pytest.raises(Unreadable, match="damaged"):
        PdfParser().parse(b"%PDF-1.7\nnothing else", "a.pdf")


# DOCX


def test_a_docx() -> None:
    given = files.word(
        ("Title", "The Report"), ("Heading 2", "Why"), ("", "Because\tof  it."), ("List Bullet", "one"), ("List Bullet", "two"),
        ("", " "), table=[["Name", "Age"], ["Ada", "36"]],
    )  # fmt: skip
    found = DocxParser().parse(given, "a.docx")
    assert found.title == "The Report"
    assert found.text == "# The Report\n\n## Why\n\nBecause of it.\n\n- one\n- two\n\nName | Age\nAda | 36"


def test_the_title_in_the_properties_comes_first() -> None:
    assert DocxParser().parse(files.word(("Heading 1", "One"), title="Named"), "a.docx").title == "Named"


def test_an_encrypted_docx() -> None:
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    for data in (ole, _with_encrypted_flag(files.word(("", "x")))):
        with pytest.raises(Unreadable, match="encrypted") as told:
            DocxParser().parse(data, "a.docx")
        assert told.value.reason == "encrypted"


def _with_encrypted_flag(archive: bytes) -> bytes:
    place = archive.find(b"PK\x01\x02")
    return archive[: place + 8] + b"\x01" + archive[place + 9 :]


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"PK\x03\x04" + b"x" * 1000, files.word(("", "x"))[:-100]])
def test_a_damaged_docx(data: bytes) -> None:
    with pytest.raises(Unreadable, match="damaged"):
        DocxParser().parse(data, "a.docx")


# Names


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\boot.ini", "boot.ini"),
        ("/abs/olute.md", "olute.md"),
        ("a\0b\r\nc\x1b[31m.txt", "ab c[31m.txt"),
        ("photo\u202egpj.exe", "photogpj.exe"),
        ("..", "document"),
        (".", "document"),
        ("", "document"),
        ("a/", "document"),
        ("   spaced \t name .md", "spaced name .md"),
        ("x" * 500 + ".pdf", "x" * 195 + "….pdf"),
        ("\ud800.txt", ".txt"),
        ("日本.md", "日本.md"),
    ],
)
def test_names_are_for_showing(given: str, shown: str) -> None:
    assert safe_name(given) == shown
    assert len(safe_name(given)) <= 200


def test_suffixes() -> None:
    assert [suffix_of(name) for name in ("a.PDF", "a.tar.gz", ".hidden", "README", "a.", "a/b.c/d")] == [
        ".pdf",
        ".gz",
        "",
        "",
        "",
        "",
    ]
