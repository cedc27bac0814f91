"""Scripts in which the rules find nothing: without capitals and, but for Japanese, without another border of names."""

from __future__ import annotations

import unicodedata
from collections import Counter

#: So many characters say what a text is written in; they are taken from all over it.
_SAMPLE = 20_000
#: Of the letters: less is a quotation, and what is around it is read.
_LEAST = 0.2
_JAPANESE = ("HIRAGANA", "KATAKANA")
_LEAST_HIRAGANA = 0.1
_CALLED = {"CJK": "Chinese", "HANGUL": "Korean"}


def unread(text: str) -> str:
    """What nobody will find in the graph of this text, in words; empty: it is read."""
    scripts, share = _scripts(text)
    if share < _LEAST:
        return ""
    names = " and ".join(sorted(_CALLED.get(one, one.title()) for one, many in scripts.items() if many >= 0.1 * scripts.total()))
    part = "its text" if share > 0.95 else f"about {share:.0%} of its text"
    return (
        f"{part} is in a script ({names}) in which the local model finds no concepts: searches for passages find it,"
        " and the graph has nothing of it; KG_CHAT names a model that reads it"
    )


def is_unread(text: str) -> bool:
    """Is most of it in such a script? English rules would find something even there, and all of it wrong."""
    return _scripts(text)[1] > 0.5


def _scripts(text: str) -> tuple[Counter[str], float]:
    """Letters by script, and what share of all letters they are."""
    letters = [one for one in text[:: len(text) // _SAMPLE + 1] if one.isalpha()]
    scripts = Counter(_script(one) for one in letters if not one.isupper() and not one.islower())
    if scripts["HIRAGANA"] >= _LEAST_HIRAGANA * len(letters):
        del scripts["CJK"]  # the words between its runs are borders
    for one in _JAPANESE:
        del scripts[one]
    return scripts, scripts.total() / max(len(letters), 1)


def _script(letter: str) -> str:
    return unicodedata.name(letter, "UNKNOWN").split()[0]
