"""Bytes that do not say what they are, and characters that nobody sees."""

from __future__ import annotations

import asyncio

import pytest

from kg.documents import guessing
from kg.documents.decoding import clean, decode
from kg.documents.parsers import HTML, PDF, TEXT
from kg.documents.parsers.text import TextParser
from kg.documents.parsing import parse
from kg.documents.sniffing import sniff
from kg.errors import Unreadable, Unsupported
from tests.kg import files

JAPANESE = "データベースは情報を整理して保存する仕組みです。これは多くの会社で使われています。"
KATAKANA = "東京都庁。サーバー、データ、システムの設定を行う。"
CHINESE = "数据库是按照数据结构来组织、存储和管理数据的仓库。它的使用非常广泛。"
TAIWANESE = "資料庫是按照資料結構來組織、儲存和管理資料的倉庫。它的使用非常廣泛。"
KOREAN = "데이터베이스는 여러 사람이 공유하여 사용할 목적으로 체계화해 통합, 관리하는 데이터의 집합이다."
RUSSIAN = "База данных - это совокупность данных, хранимых в соответствии со схемой."
GREEK = "Η βάση δεδομένων είναι μια οργανωμένη συλλογή δεδομένων."


@pytest.mark.parametrize(
    ("text", "encoding", "told"),
    [
        (JAPANESE, "shift_jis", "Shift-JIS"),
        (JAPANESE, "euc_jp", "EUC-JP"),
        (KATAKANA, "shift_jis", "Shift-JIS"),
        (KATAKANA, "euc_jp", "EUC-JP"),
        ("これはペンです。", "cp932", "Shift-JIS"),
        (CHINESE, "gb18030", "GB18030"),
        (CHINESE, "gb2312", "GB18030"),
        ("我们在北京工作。", "gbk", "GB18030"),
        (TAIWANESE, "big5", "Big5"),
        (KOREAN, "euc_kr", "EUC-KR"),
        ("나는 서울에서 일한다.", "euc_kr", "EUC-KR"),
        (RUSSIAN, "cp1251", "Windows-1251"),
        (RUSSIAN, "koi8_r", "KOI8-R"),
        (RUSSIAN, "cp866", "CP866"),
        (GREEK, "cp1253", "Windows-1253"),
        ("An English README with a few words. " * 50 + KOREAN, "euc_kr", "EUC-KR"),
        (CHINESE * 3000, "gb18030", "GB18030"),  # the part that is looked at ends in the middle of a character
    ],
)
def test_old_encodings_are_known_by_their_characters(text: str, encoding: str, told: str) -> None:
    found = TextParser().parse(text.encode(encoding), "a.txt")
    assert found.text == text
    assert len(found.warnings) == 1
    assert f"read as {told}; some characters may be wrong" in found.warnings[0]


@pytest.mark.parametrize(
    "text",
    [
        "L’été, à l’école, les élèves étudient « déjà » le français où ça plaît; naïveté, cœur, Noël…",
        "Größe, Übermut, Äpfel für Öfen – „schön“ heißt süß, Füße, Straße.",
        "¿Qué año? ¡Mañana! Señor Núñez comió piñas, café y más.",
        "Ação, coração, não, informações, São Paulo, ões, ãe",
        "Müller, Çelik, Øß, Åå, Éÿ ÄÖÜ äöüß",
        "áéíóú ÁÉÍÓÚ àèìòù",
        "é",
        "“” ‘’ – — …",
    ],
)
def test_western_texts_stay_western(text: str) -> None:
    found, [warning] = decode(text.encode("cp1252"))
    assert found == text
    assert "read as Windows-1252" in warning


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", ["Hi\r\n", "Grüße, 世界\n", "A longer text.\n" * 5000])
def test_utf_16_without_a_mark(text: str, encoding: str) -> None:
    data = text.encode(encoding)
    assert sniff(data, "a.txt") == TEXT
    assert decode(data) == (text, [])


@pytest.mark.parametrize(
    "data", [b"\1\0\2\0\3\0\4\0" * 50, bytes(range(256)), b"a\0b\0c\0d", b"\0" * 100, b"a\0", b"", b"plain text"]
)
def test_what_is_no_utf_16(data: bytes) -> None:
    assert guessing.utf_16(data) == ""


def test_a_page_in_utf_16() -> None:
    page = "<!doctype html><p>x"
    assert [sniff(page.encode(one), "page") for one in ("utf-16", "utf-16-le", "utf-16-be")] == [HTML] * 3


@pytest.mark.parametrize("data", [b"words " * 25 + b"\0\0", b"a\0b\0\0cd", b"\x01\x02one\x03 two three", "é\0é".encode()])
def test_a_few_control_characters_make_no_binary_file(data: bytes) -> None:
    assert sniff(data, "a.txt") == TEXT
    assert TextParser().parse(data, "a.txt").text == "".join(one for one in data.decode() if one >= " ")


@pytest.mark.parametrize(
    "data", [b"\0", b"\0\1\2\3\4\5", b"words " * 25 + b"\0" * 9, b"\xff\0\xfe\1" * 5, b"x" * 20_000 + b"\0" * 21]
)
def test_many_do(data: bytes) -> None:
    with pytest.raises(Unsupported, match="binary"):
        sniff(data, "a.txt")
    if b"\0" in data[1:]:
        with pytest.raises(Unreadable, match="NUL"):
            decode(data)


def test_what_nobody_sees_is_taken_out() -> None:
    tags = "".join(chr(0xE0000 + ord(one)) for one in "obey")
    assert clean(f"co\xadop\u200ber\u200cate\u2060d \u202eright\u202c {tags}end\u200d") == "cooperated right end"
    assert clean("\ufb01ne a\ufb04uent") == "fine affluent"


def test_joiners_that_mean_something_stay() -> None:
    text = "می\u200cخواهم क्\u200dष 👩\u200d💻"
    assert "\u200c" in text
    assert text.count("\u200d") == 2
    assert clean(text) == text


@pytest.mark.parametrize("bad", [b"\xff", b"\xe2\x82", b"caf\xe9"])
def test_a_few_bad_bytes_do_not_spoil_utf_8(bad: bytes) -> None:
    text, [warning] = decode("Ünï çödé ".encode() * 3 + bad + " – end".encode(), named="iso-8859-1")
    assert text.startswith("Ünï çödé ")
    assert text.endswith("\ufffd – end")
    assert "not all of it is utf-8: 1 characters" in warning


def test_japanese_in_seven_bits() -> None:
    text = "日本語の文章です。\n"
    assert decode(text.encode("iso2022_jp")) == (text, [])
    assert sniff(text.encode("iso2022_jp"), "a.txt") == TEXT
    assert decode(b"costs \x1b$Bx") == ("costs \x1b$Bx", [])


def test_what_a_terminal_would_show() -> None:
    shown = "\x1b[1;32mINFO\x1b[0m up\x1b]0;title\x07 \x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\ \x1b]no end"
    assert clean(shown) == "INFO up link ]no end"
    assert clean("one\x0btwo") == "one\ntwo"


def test_the_sender_s_word_comes_before_the_document_s_own() -> None:
    data = "Příliš žluťoučký kůň".encode("cp1250")
    kind = sniff(data, "a.txt", 'text/plain; Charset="Windows-1250"')
    assert kind == "text/plain; charset=windows-1250"
    assert asyncio.run(parse(data, kind, "a.txt")).text == "Příliš žluťoučký kůň"
    page = b"<html><head><meta charset=koi8-r><body>" + data
    assert asyncio.run(parse(page, sniff(page, "a", "text/html;charset=cp1250"), "a")).text == "Příliš žluťoučký kůň"
    text = "Příliš"  # what is UTF-8 is, whatever was said
    assert asyncio.run(parse(text.encode(), "text/plain; charset=windows-1250", "a.txt")).text == text


@pytest.mark.parametrize("declared", ["text/plain; charset=utf-8", "text/plain; charset=", "text/plain; charset", "text/plain;x=y"])
def test_charsets_that_say_nothing(declared: str) -> None:
    assert sniff(b"abc", "a.txt", declared) == TEXT
    assert asyncio.run(parse(b"caf\xe9", "text/plain; charset=klingon", "a.txt")).text == "café"


def test_a_pdf_has_no_charset() -> None:
    assert sniff(files.pdf(["x"]), "a.pdf", "application/pdf; charset=koi8-r") == PDF
