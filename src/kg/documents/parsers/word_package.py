"""The archive that a Word file is: its parts, by how they are related.

Only what is read is unpacked, pictures never. What Word itself bears is borne here too: a main part of any name, templates and
files with macros, the strict form of the format, relations to parts that are not there.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from typing import Any

from docx.oxml.parser import parse_xml

from kg.errors import TooLarge, Unreadable

#: Of everything in the archive. A real one unpacks to a few times its size.
UNPACKED_LIMIT = 256 * 1024 * 1024
MOST_PARTS = 10_000
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RELATION = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
#: The strict form is the same but for the names of its names.
_STRICT = (
    (b"http://purl.oclc.org/ooxml/wordprocessingml/main", b"http://schemas.openxmlformats.org/wordprocessingml/2006/main"),
    (b"http://purl.oclc.org/ooxml/officeDocument/math", b"http://schemas.openxmlformats.org/officeDocument/2006/math"),
    (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships",
        b"http://schemas.openxmlformats.org/officeDocument/2006/relationships",
    ),
)


class WordPackage:
    """`main` is the document's element."""

    def __init__(self, data: bytes) -> None:
        if data.startswith(_OLE):
            raise Unreadable("it is encrypted, or a .doc of an old Word: save it as .docx without a password", reason="encrypted")
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError) as error:
            raise Unreadable(f"it is no DOCX, or a damaged one: {error}") from None
        self._parts = self._checked()
        name = self._related("").get("officeDocument", "")
        if not self._is_there(name):
            raise Unreadable("it is no DOCX, or a damaged one: there is no document in it")
        self._of_main = self._related(name)
        self.main = self._element(name)

    def part(self, kind: str) -> Any:
        """`styles`, `footnotes`, …: its element, or None."""
        name = self._of_main.get(kind, "")
        return self._element(name) if self._is_there(name) else None

    def title(self) -> str:
        name = self._related("").get("core-properties", "")
        return (self._element(name).findtext(_TITLE) or "").strip() if self._is_there(name) else ""

    def _checked(self) -> dict[str, zipfile.ZipInfo]:
        """Before anything is unpacked: a bomb is told by what it says of itself, and no more than that is ever read from it."""
        parts = self._archive.infolist()
        if len(parts) > MOST_PARTS:
            raise TooLarge(f"it has {len(parts):,} parts; {MOST_PARTS:,} are allowed")
        if (total := sum(part.file_size for part in parts)) > UNPACKED_LIMIT:
            raise TooLarge(f"it unpacks to {total:,} bytes; {UNPACKED_LIMIT:,} are allowed")
        if any(part.flag_bits & 1 for part in parts):
            raise Unreadable("it is encrypted: a password is needed to read it", reason="encrypted")
        return {part.filename.replace("\\", "/").lower(): part for part in parts}

    def _is_there(self, name: str) -> bool:
        return name.lower() in self._parts

    def _related(self, name: str) -> dict[str, str]:
        """The last word of each relation's type, and the name of the part that it leads to: the first of each type."""
        folder, _, last = name.rpartition("/")
        relations = posixpath.join(folder, "_rels", f"{last}.rels")
        found: dict[str, str] = {}
        for one in self._element(relations).iter(_RELATION) if self._is_there(relations) else ():
            if one.get("TargetMode") != "External":
                place = posixpath.normpath(posixpath.join("/", folder, one.get("Target", ""))).lstrip("/")
                found.setdefault(one.get("Type", "").rpartition("/")[2], place)
        return found

    def _element(self, name: str) -> Any:
        try:
            data = self._archive.read(self._parts[name.lower()])
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, OSError) as error:
            raise Unreadable(f"it is damaged: {name} in it cannot be unpacked: {error}") from None
        if _has_doctype(data[:65_536]):
            raise Unreadable(f"{name} in it declares entities, which Word never does")
        for strict, usual in _STRICT if b"http://purl.oclc.org/ooxml/" in data[:65_536] else ():
            data = data.replace(strict, usual)
        try:
            return parse_xml(data)
        except SyntaxError as error:  # lxml's are such
            deep = "depth" in str(error)
            raise Unreadable(f"{name} in it cannot be read: {error}", reason="too_deep" if deep else "damaged") from None


def _has_doctype(head: bytes) -> bool:
    """A document type stands before the first element."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        head = head.replace(b"\0", b"")
    return b"<!DOCTYPE" in head or b"<!ENTITY" in head
