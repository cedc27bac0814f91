"""The text of a paragraph of Word, as it reads with all changes accepted: what was inserted is in it, what was deleted is not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from docx.oxml.ns import qn

_MC = "{http://schemas.openxmlformats.org/markup-compatibility/2006}"
_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
#: Hold others, and are nothing themselves.
_WRAPPERS = frozenset(
    qn(f"w:{one}")
    for one in (
        "ins", "moveTo", "smartTag", "customXml", "sdt", "sdtContent", "fldSimple", "hyperlink", "dir", "bdo", "ruby", "rubyBase",
    )
) | {f"{_MC}Choice", f"{_MC}Fallback"}  # fmt: skip
_SAID = {qn("w:tab"): "\t", qn("w:ptab"): "\t", qn("w:cr"): "\n", qn("w:noBreakHyphen"): "-"}
_NOTES = {qn("w:footnoteReference"): "footnotes", qn("w:endnoteReference"): "endnotes"}
_BOXES = frozenset({qn("w:drawing"), qn("w:pict"), qn("w:object")})


class Runs:
    """`text`, the contents of text boxes that are anchored in it, and the notes that it refers to, as (part, id)."""

    def __init__(self, numbers: dict[tuple[str, str], int]) -> None:
        self._numbers = numbers  # of notes, by their first mention
        self._parts: list[str] = []
        self.boxes: list[Any] = []

    @property
    def text(self) -> str:
        return "".join(self._parts)

    def read(self, paragraph: Any) -> None:
        for child in inside(paragraph):
            if child.tag == qn("w:r"):
                self._run(child)
            elif child.tag in (f"{_MATH}oMath", f"{_MATH}oMathPara"):
                self._parts += [one.text or "" for one in child.iter(f"{_MATH}t")]

    def _run(self, run: Any) -> None:
        if is_on(run.find(qn("w:rPr")), "w:vanish"):  # hidden text
            return
        for child in inside(run):
            if child.tag == qn("w:t"):
                self._parts.append(child.text or "")
            elif child.tag == qn("w:br"):
                self._parts.append("\n" if child.get(qn("w:type"), "textWrapping") == "textWrapping" else " ")
            elif child.tag == qn("w:r"):  # of a ruby's base
                self._run(child)
            elif child.tag in _NOTES:
                note = _NOTES[child.tag], child.get(qn("w:id"), "")
                self._parts.append(f"[^{self._numbers.setdefault(note, len(self._numbers) + 1)}]")
            elif child.tag in _BOXES:
                self.boxes += _outermost(child)
            else:
                self._parts.append(_SAID.get(child.tag, ""))


def inside(element: Any) -> Iterator[Any]:
    """The children, and in place of wrappers what they hold. Of what is there for new and for old readers, the first."""
    for child in element.iterchildren():
        if child.tag in _WRAPPERS:
            yield from inside(child)
        elif child.tag == f"{_MC}AlternateContent":
            choices = [one for one in child.iterchildren() if one.tag in _WRAPPERS]
            yield from inside(choices[0]) if choices else ()
        else:
            yield child


def is_on(properties: Any, name: str) -> bool:
    """A property that is there is on, unless it says that it is off."""
    found = None if properties is None else properties.find(qn(name))
    return found is not None and found.get(qn("w:val"), "true") not in ("0", "false", "off")


def _outermost(drawing: Any) -> Iterator[Any]:
    """Text boxes, without those inside of others: these are found with their own paragraph."""
    for box in drawing.iter(qn("w:txbxContent")):
        above = box.getparent()
        while above is not drawing and above.tag not in (qn("w:txbxContent"), f"{_MC}Fallback"):
            above = above.getparent()
        if above is drawing:
            yield box
