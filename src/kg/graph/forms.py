"""Normal forms of names: two labels with one form are written alike, and nothing more is claimed.

A form is stored and is unique in an ontology, so a change here changes stored keys.
"""

from __future__ import annotations

import re
import unicodedata

ARTICLES = frozenset({"the", "a", "an"})
#: Latin letters that do not come apart into a letter and a mark.
_LETTERS = str.maketrans({"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h", "ŧ": "t"})
_DOTTED = re.compile(r"(?<![^\W_])(?:[^\W\d_]\.){2,}(?:[^\W\d_](?![^\W_]))?")  # U.S., Ph. is none
_POSSESSIVE = re.compile(r"['’ʼ`´](?:s\b)?(?!\w)")
_INSIDE = re.compile(r"(?<=\w)['’ʼ`´](?=\w)")
_WORD = re.compile(r"\.?[^\W_]+(?:[.,](?=\d)[^\W_]+)*[+#]*")
_PLURAL_OF_CAPITALS = re.compile(r"\b([A-Z]{2,})s\b")
LONGEST = 300


def form(label: str) -> str:
    """Case, accents, punctuation, a leading article, a possessive ending and the plural of a common noun do not count."""
    text = unicodedata.normalize("NFKC", label)[: 4 * LONGEST]
    common = _is_common(text)
    text = _PLURAL_OF_CAPITALS.sub(r"\1", text)
    text = _DOTTED.sub(lambda found: found[0].replace(".", ""), text)
    text = _INSIDE.sub("", without_possessive(text)).replace("&", " and ")
    found = [word if index == 0 else word.lstrip(".") for index, word in enumerate(_WORD.findall(bare(text.casefold())))]
    if len(found) > 1 and found[0] in ARTICLES:
        found = found[1:]
    if common and found:
        found[-1] = singular(found[-1])
    return (" ".join(found) or " ".join(text.casefold().split()))[:LONGEST].rstrip()


def lookups(text: str) -> set[str]:
    """Forms to look for when a person asks: he may write a name in small letters, where `form` would take off its plural."""
    return {form(text), form(text.title())} - {""}


def singular(word: str) -> str:
    """Of an English common noun; what is no plural is given back."""
    if len(word) < 4 or not word.isalpha() or not word.endswith("s") or word.endswith(("ss", "us", "is", "ous", "ics", "news")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


def _is_common(text: str) -> bool:
    """Does it end in a word in small letters? A capital there is a name, and names have no plural: Williams, Athens."""
    last = text.split()[-1:] or [""]
    return last[0].strip("\"'’”)].,;:").islower()


def without_possessive(text: str) -> str:
    return _POSSESSIVE.sub("", text)


def bare(text: str) -> str:
    """Without the marks on Latin and Greek letters. In other scripts a mark may be a vowel, and stays."""
    if text.isascii():
        return text
    kept: list[str] = []
    marked = False  # is the letter before one that loses its marks?
    for letter in unicodedata.normalize("NFD", text):
        if unicodedata.combining(letter):
            if not marked:
                kept.append(letter)
            continue
        marked = unicodedata.name(letter, "").startswith(("LATIN", "GREEK"))
        kept.append(letter)
    return unicodedata.normalize("NFC", "".join(kept)).translate(_LETTERS)
