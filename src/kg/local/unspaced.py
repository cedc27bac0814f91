"""Text that is written without spaces. Of Japanese the runs of Chinese characters and katakana are taken: the words between
them are in another script. Where no such border is, as in Chinese and Thai, nothing is: a guess would cut words in two."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kg.local.mentions import CONCEPT

_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_LETTER = re.compile(r"[^\W\d_]")
_HIRAGANA = re.compile(r"[\u3041-\u309f]")
_LEAST_HIRAGANA = 0.1  # of the letters: less is a quotation
_SENTENCE = re.compile(r"[^。！？!?\n]+")
_RUN = re.compile(r"[\u3400-\u9fff\u30a1-\u30faー々A-Za-z]{2,16}")
#: Days and counts, and words that only say where or when.
_NO_NAME = re.compile(
    r"約?[〇一二三四五六七八九十百千万億兆\d]+[年月日人時分円個回件]*(?:[〇一二三四五六七八九十\d]+[月日])*|現在|予定|同社|以上|以下|今年|昨年"
)
_TYPES = (
    (re.compile(r"(?:株式会社|大学|会社|銀行|研究所|協会|委員会|省|庁|党)$|^株式会社"), "organization"),
    (re.compile(r".[市県国都府島川山駅町村区州]$"), "place"),
)
_PERSON = "氏"  # Mr; not part of the name


def is_unspaced(text: str) -> bool:
    """Are three of ten letters of such a script? Each of them says more than a Latin one."""
    some = len(_UNSPACED.findall(text))
    return some > 0 and 10 * some >= 3 * len(_LETTER.findall(text))


def sentences(text: str) -> Iterator[list[tuple[int, int, str]]]:
    """(start, end, type) of what each sentence of a Japanese text speaks of."""
    if len(_HIRAGANA.findall(text)) < _LEAST_HIRAGANA * len(_LETTER.findall(text)):
        return
    for sentence in _SENTENCE.finditer(text):
        yield [_typed(found) for found in _RUN.finditer(text, *sentence.span()) if not _NO_NAME.fullmatch(found[0])]


def _typed(found: re.Match[str]) -> tuple[int, int, str]:
    if found[0].endswith(_PERSON) and len(found[0]) > 2:
        return found.start(), found.end() - 1, "person"
    type = next((type for pattern, type in _TYPES if pattern.search(found[0])), CONCEPT)
    return found.start(), found.end(), type
