"""What Word puts around text: changes, fields, lists, boxes, notes."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable

import docx
import pytest

from kg.documents.parsers import DOCX
from kg.documents.parsers.docx import DocxParser
from kg.documents.parsers.ordinals import letters, roman
from kg.documents.sniffing import sniff
from kg.errors import Unreadable
from tests.kg import files

_NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:v="urn:schemas-microsoft-com:vml" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)


def run(text: str) -> str:
    return f'<w:r><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(inner: str, properties: str = "") -> str:
    return f"<w:p>{f'<w:pPr>{properties}</w:pPr>' if properties else ''}{inner}</w:p>"


def read(*body: str, **parts: str) -> str:
    """`parts`: numbering, footnotes, …"""
    document = f"<w:document {_NAMES}><w:body>{''.join(body)}</w:body></w:document>"
    data = files.word_with(document.encode())
    return DocxParser().parse(_with_parts(data, parts) if parts else data, "a.docx").text


def _with_parts(archive: bytes, parts: dict[str, str]) -> bytes:
    out = io.BytesIO()
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
    main = "application/vnd.openxmlformats-officedocument.wordprocessingml."
    related = "".join(
        f'<Relationship Id="own{name}" Type="{kind}{name}" Target="own_{name}.xml"/>' for name in parts
    )  # fmt: skip
    types = "".join(f'<Override PartName="/word/own_{name}.xml" ContentType="{main}{name}+xml"/>' for name in parts)
    with zipfile.ZipFile(io.BytesIO(archive)) as given, zipfile.ZipFile(out, "w") as made:
        for item in given.infolist():
            data = given.read(item)
            if item.filename == "word/_rels/document.xml.rels":
                for name in parts:  # the template has one of its own
                    data = data.replace(f"{kind}{name}".encode(), b"urn:none")
                data = data.replace(b"</Relationships>", related.encode() + b"</Relationships>")
            elif item.filename == "[Content_Types].xml":
                data = data.replace(b"</Types>", types.encode() + b"</Types>")
            made.writestr(item.filename, data)
        for name, inner in parts.items():
            made.writestr(f"word/own_{name}.xml", f"<w:{name} {_NAMES}>{inner}</w:{name}>")
    return out.getvalue()


# The archive


def _changed(change: Callable[[str, bytes], tuple[str, bytes] | None], data: bytes | None = None) -> bytes:
    """Each part, renamed, with other content, or not there."""
    out = io.BytesIO()
    given = files.word(("Heading 1", "Gears"), ("", "Bronze wheels."), title="Of wheels") if data is None else data
    with zipfile.ZipFile(io.BytesIO(given)) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for item in archive.infolist():
            if (part := change(item.filename, archive.read(item))) is not None:
                made.writestr(*part)
    return out.getvalue()


_MAIN = b"application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.docm", b"application/vnd.ms-word.document.macroEnabled.main+xml"),
        ("a.dotx", b"application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml"),
        ("a.dotm", b"application/vnd.ms-word.template.macroEnabledTemplate.main+xml"),
    ],
)
def test_files_with_macros_and_templates(name: str, kind: bytes) -> None:
    data = _changed(lambda part, content: (part, content.replace(_MAIN, kind)))
    assert sniff(data, name) == DOCX
    assert DocxParser().parse(data, name).text == "# Gears\n\nBronze wheels."


def test_the_strict_form() -> None:
    usual, strict = b"http://schemas.openxmlformats.org/", b"http://purl.oclc.org/ooxml/"
    names = [
        (usual + b"wordprocessingml/2006/main", strict + b"wordprocessingml/main"),
        (usual + b"officeDocument/2006/relationships", strict + b"officeDocument/relationships"),
    ]

    def change(part: str, content: bytes) -> tuple[str, bytes]:
        for old, new in names:
            content = content.replace(old, new)
        return part, content

    found = DocxParser().parse(_changed(change), "a.docx")
    assert (found.text, found.title) == ("# Gears\n\nBronze wheels.", "Of wheels")


def test_a_main_part_of_another_name() -> None:
    def change(part: str, content: bytes) -> tuple[str, bytes]:
        return part.replace("/document.xml", "/document2.xml"), content.replace(b"word/document.", b"word/document2.")

    data = _changed(change)
    assert sniff(data, "a.docx") == DOCX
    assert DocxParser().parse(data, "a.docx").text == "# Gears\n\nBronze wheels."


@pytest.mark.parametrize("gone", ["docProps/core.xml", "[Content_Types].xml", "word/settings.xml", "word/numbering.xml"])
def test_parts_that_are_not_there(gone: str) -> None:
    data = _changed(lambda part, content: None if part == gone else (part, content))
    assert DocxParser().parse(data, "a.docx").text == "# Gears\n\nBronze wheels."


def test_without_styles_nothing_is_a_heading() -> None:
    data = _changed(lambda part, content: None if part == "word/styles.xml" else (part, content))
    assert DocxParser().parse(data, "a.docx").text == "Gears\n\nBronze wheels."


@pytest.mark.parametrize("gone", ["_rels/.rels", "word/document.xml"])
def test_parts_that_must_be_there(gone: str) -> None:
    with pytest.raises(Unreadable, match="there is no document in it"):
        DocxParser().parse(_changed(lambda part, content: None if part == gone else (part, content)), "a.docx")


def test_a_damaged_part_is_named_and_nothing_of_the_machine_is() -> None:
    with pytest.raises(Unreadable, match=r"^word/document.xml in it cannot be read: ") as told:
        DocxParser().parse(files.word_with(b"<w:document><w:body"), "a.docx")
    assert "0x" not in str(told.value)


def test_what_is_not_looked_into_is_told() -> None:
    document = f"<w:document {_NAMES}><w:body>{paragraph(run('x') + '<w:r><w:object/></w:r>')}<w:altChunk/></w:body></w:document>"
    assert DocxParser().parse(files.word_with(document.encode()), "a.docx").warnings == (
        "documents of other formats in it are left out: 1", "objects of other programs in it are left out: 1",
    )  # fmt: skip


# Changes


@pytest.mark.parametrize(
    "wrapper",
    [
        '<w:ins w:id="1" w:author="Ada">{}</w:ins>',
        '<w:moveTo w:id="1">{}</w:moveTo>',
        '<w:smartTag w:element="place">{}</w:smartTag>',
        "<w:sdt><w:sdtPr/><w:sdtContent>{}</w:sdtContent></w:sdt>",
        '<w:fldSimple w:instr="AUTHOR">{}</w:fldSimple>',
        '<w:hyperlink w:anchor="x">{}</w:hyperlink>',
        '<w:customXml w:element="x">{}</w:customXml>',
        '<w:bdo w:val="ltr">{}</w:bdo>',
        '<w:ins w:id="1"><w:hyperlink w:anchor="x"><w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt></w:hyperlink></w:ins>',
    ],
)
def test_what_is_wrapped_is_text(wrapper: str) -> None:
    assert read(paragraph(run("one ") + wrapper.format(run("two ")) + run("three"))) == "one two three"


@pytest.mark.parametrize(
    "gone",
    [
        '<w:del w:id="1"><w:r><w:delText>two </w:delText></w:r></w:del>',
        '<w:moveFrom w:id="1"><w:r><w:t>two </w:t></w:r></w:moveFrom>',
        '<w:ins w:id="1"><w:del w:id="2"><w:r><w:delText>two </w:delText></w:r></w:del></w:ins>',
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>two </w:t></w:r>",
        "<w:r><w:instrText>PAGE</w:instrText></w:r>",
    ],
)
def test_what_was_deleted_or_hidden_is_not(gone: str) -> None:
    assert read(paragraph(run("one ") + gone + run("three"))) == "one three"


def test_hidden_that_is_switched_off() -> None:
    assert read(paragraph('<w:r><w:rPr><w:vanish w:val="false"/></w:rPr><w:t>seen</w:t></w:r>')) == "seen"


def test_a_paragraph_whose_end_was_deleted_goes_on() -> None:
    assert read(paragraph(run("one "), "<w:rPr><w:del/></w:rPr>"), paragraph(run("two"))) == "one two"
    assert read(paragraph(run("one "), "<w:rPr><w:del/></w:rPr>")) == "one"


def test_changes_in_tables() -> None:
    def row(first: str, second: str, properties: str = "") -> str:
        return f"<w:tr>{properties}<w:tc>{paragraph(first)}</w:tc><w:tc>{paragraph(second)}</w:tc></w:tr>"

    held = "<w:sdt><w:sdtContent>{}</w:sdtContent></w:sdt>"
    cell = f"<w:tc>{paragraph(run('Kim'))}</w:tc>"
    table = (
        row(f'<w:ins w:id="1">{run("Ada")}</w:ins>', run("36"))
        + row(run("Bob"), run("7"), "<w:trPr><w:del/></w:trPr>")
        + held.format(row(run("Eve"), run("8")))
        + f"<w:tr>{held.format(cell)}<w:tc>{paragraph(run('9'))}</w:tc></w:tr>"
    )
    assert read(f"<w:tbl>{table}</w:tbl>") == "Ada | 36\nEve | 8\nKim | 9"


def test_a_table_in_a_cell() -> None:
    inner = "".join(f"<w:tr><w:tc>{paragraph(run(a))}</w:tc><w:tc>{paragraph(run(b))}</w:tc></w:tr>" for a, b in ("ab", "cd"))
    cells = f"<w:tc>{paragraph(run('x'))}<w:tbl>{inner}</w:tbl>{paragraph('')}</w:tc><w:tc>{paragraph(run('y'))}</w:tc>"
    assert read(f"<w:tbl><w:tr>{cells}</w:tr></w:tbl>") == "x a, b; c, d | y"


# In a paragraph


def test_signs() -> None:
    signs = '<w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:br w:type="page"/><w:t>d</w:t><w:noBreakHyphen/><w:t>e</w:t>'
    inner = f"<w:r><w:t>a</w:t>{signs}</w:r>"
    assert read(paragraph(inner)) == "a b\nc d-e"


def test_formulas_and_readings_above_words() -> None:
    ruby = "<w:r><w:ruby><w:rt><w:r><w:t>kanji</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢字</w:t></w:r></w:rubyBase></w:ruby></w:r>"
    assert read(paragraph(run("E=") + "<m:oMath><m:r><m:t>mc²</m:t></m:r></m:oMath>" + ruby)) == "E=mc²漢字"


def test_a_text_box_comes_once_and_after_its_paragraph() -> None:
    box = f"<w:txbxContent>{paragraph(run('boxed'))}</w:txbxContent>"
    drawing = (
        f"<w:r><mc:AlternateContent><mc:Choice><w:drawing><wps:wsp><wps:txbx>{box}</wps:txbx></wps:wsp></w:drawing></mc:Choice>"
        f"<mc:Fallback><w:pict><v:textbox>{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    )
    assert read(paragraph(run("before") + drawing + run(" after")), paragraph(run("next"))) == "before after\n\nboxed\n\nnext"


def test_notes_stand_at_the_end() -> None:
    notes = (
        f'<w:footnote w:id="0">{paragraph(run("line"))}</w:footnote><w:footnote w:id="7">{paragraph(run("See Ada."))}</w:footnote>'
    )
    text = read(paragraph(run("Known") + '<w:r><w:footnoteReference w:id="7"/></w:r>' + run(".")), footnotes=notes)
    assert text == "Known[^1].\n\n[^1]: See Ada."


# Lists and headings

LEVELS = (
    '<w:abstractNum w:abstractNumId="5">'
    '<w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1."/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>'
    '<w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerLetter"/><w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>'
    '<w:abstractNum w:abstractNumId="6"><w:lvl w:ilvl="0"><w:numFmt w:val="bullet"/><w:lvlText w:val="x"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="6"/></w:num>'
    '<w:num w:numId="3"><w:abstractNumId w:val="5"/>'
    '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="4"/></w:lvlOverride></w:num>'
)


def item(text: str, list_id: int, depth: int = 0, more: str = "") -> str:
    return paragraph(run(text), f'{more}<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="{list_id}"/></w:numPr>')


def test_numbers_of_lists() -> None:
    text = read(
        item("a", 1), item("b", 1, 1), item("c", 1, 1), item("d", 1, 2), item("e", 1), item("f", 1, 1), item("g", 2), item("h", 3),
        item("i", 1), item("j", 0),
        numbering=LEVELS,
    )  # fmt: skip
    assert text == "1. a\n  1.1 b\n  1.2 c\n    (a) d\n2. e\n  2.1 f\n- g\n4. h\n5. i\n\nj"


def test_numbers_of_headings() -> None:
    heading = '<w:pStyle w:val="Heading1"/>'
    assert read(item("Scope", 1, 0, heading), item("Terms", 1, 0, heading), numbering=LEVELS) == "# 1. Scope\n\n# 2. Terms"


def test_lists_of_the_usual_styles() -> None:
    given = files.word(("List Number", "one"), ("List Number", "two"), ("List Bullet", "x"), ("List Paragraph", "plain"))
    assert DocxParser().parse(given, "a.docx").text == "1. one\n2. two\n- x\n\nplain"


def test_headings_of_own_styles() -> None:
    document = docx.Document()
    own = document.styles.add_style("Clause", 1)
    own.base_style = document.styles["Heading 2"]
    document.add_paragraph("Duties", style="Clause")
    out = io.BytesIO()
    document.save(out)
    assert DocxParser().parse(out.getvalue(), "a.docx").text == "## Duties"
    assert (
        read(paragraph(run("Big"), '<w:outlineLvl w:val="0"/>'), paragraph(run("Body"), '<w:outlineLvl w:val="9"/>'))
        == "# Big\n\nBody"
    )


def test_ordinals() -> None:
    assert [letters(n) for n in (1, 26, 27, 53)] == ["a", "z", "aa", "ba"]
    assert [roman(n) for n in (1, 4, 9, 14, 1999, 4000)] == ["i", "iv", "ix", "xiv", "mcmxcix", "4000"]
