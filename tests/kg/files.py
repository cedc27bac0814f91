"""Documents for tests, made here: PDF by hand, DOCX by its library, archives with lies in them."""

from __future__ import annotations

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence

import docx

DOCUMENT = "word/document.xml"


def pdf(pages: Sequence[str], *, title: str = "", extra: str = "", count: int | None = None, same: int = 1) -> bytes:
    """A page per text, its lines from the top. `same` repeats the last page's reference, `extra` goes into the trailer."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"]
    kids = []
    for text in pages:
        lines = "".join(f"({_escaped(line)}) Tj T* " for line in text.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 72 720 Td {lines}ET".encode("latin-1") if text else b""
        kids.append(f"{len(objects) + 1} 0 R")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> "
            f"/Contents {len(objects) + 2} 0 R >>".encode()
        )
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    kids += kids[-1:] * (same - 1)
    objects[1] = f"<< /Type /Pages /Count {count or len(kids)} /Kids [{' '.join(kids)}] >>".encode()
    if title:
        objects.append(f"<< /Title ({_escaped(title)}) >>".encode())
        extra += f" /Info {len(objects)} 0 R"
    return pdf_of(objects, extra)


def pdf_of(objects: Sequence[bytes], extra: str = "") -> bytes:
    """The first object is the catalog."""
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R {extra} >>\nstartxref\n{table}\n%%EOF\n".encode()
    return bytes(out)


def encrypted_pdf() -> bytes:
    """With a password that nobody knows."""
    mark = "ab" * 32
    return pdf(
        ["secret"],
        extra=f"/ID [<{'00' * 16}> <{'00' * 16}>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{mark}> /U <{mark}> >>",
    )


def pdf_with_stream(packed: bytes) -> bytes:
    return pdf_of(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        ]
    )


def word(*paragraphs: tuple[str, str], table: Sequence[Sequence[str]] = (), title: str = "") -> bytes:
    """(style, text) of each paragraph; the table comes last."""
    document = docx.Document()
    document.core_properties.title = title
    for style, text in paragraphs:
        document.add_paragraph(text, style=style or None)
    if table:
        made = document.add_table(rows=0, cols=len(table[0]))
        for row in table:
            for cell, text in zip(made.add_row().cells, row, strict=True):
                cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def word_with(part: bytes, name: str = DOCUMENT) -> bytes:
    """A DOCX with one part replaced."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(word(("", "x")))) as given, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        for item in given.infolist():
            made.writestr(item.filename, part if item.filename == name else given.read(item))
    return out.getvalue()


def with_false_size(archive: bytes, name: str, size: int) -> bytes:
    """An archive whose directory lies about how large a part is when it is unpacked."""
    data = bytearray(archive)
    place = -1
    while (place := data.find(b"PK\x01\x02", place + 1)) >= 0:
        length = struct.unpack_from("<H", data, place + 28)[0]
        if data[place + 46 : place + 46 + length] == name.encode():
            struct.pack_into("<I", data, place + 24, size)
            return bytes(data)
    raise AssertionError(f"{name} is not in the archive")


def with_repeated_entry(archive: bytes, name: str, times: int) -> bytes:
    """An archive whose directory names one part many times: all overlap, so it stays small."""
    end = archive.rfind(b"PK\x05\x06")
    size, start = struct.unpack_from("<II", archive, end + 12)
    directory = archive[start : start + size]
    place = directory.find(name.encode()) - 46
    lengths = struct.unpack_from("<HHH", directory, place + 28)
    entry = directory[place : place + 46 + sum(lengths)]
    count = struct.unpack_from("<H", archive, end + 10)[0] + times
    directory += entry * times
    tail = bytearray(archive[end:])
    struct.pack_into("<HHII", tail, 8, count, count, len(directory), start)
    return archive[:start] + directory + bytes(tail)


def zeros(count: int) -> bytes:
    """That many, packed by zlib, never in memory at once."""
    packer = zlib.compressobj(1)
    piece = b" " * (1 << 20)
    return b"".join(packer.compress(piece) for _ in range(count >> 20)) + packer.flush()


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
