"""What type of relation an extractor means. Only the built-in types are looked at, never what others brought: whether PRODUCE is
PRODUCES must not depend on which chunk came first."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz, process

#: The rows of the migration, by category.
BUILT_IN = {
    "logical": ("IMPLIES", "ENTAILS", "PRESUPPOSES", "CONTRADICTS"),
    "causal": ("CAUSES", "ENABLES", "PREVENTS", "INFLUENCES", "RESULTS_FROM"),
    "structural": ("PART_OF", "CONTAINS", "COMPOSED_OF", "IS_A"),
    "evidential": ("SUPPORTS", "REFUTES", "EXEMPLIFIES", "MEASURED_IN"),
    "similarity": ("SIMILAR_TO", "ANALOGOUS_TO", "EQUIVALENT_TO", "OPPOSITE_OF"),
    "temporal": ("PRECEDES", "CONCURRENT_WITH", "EVOLVES_INTO"),
    "functional": ("USES", "PRODUCES", "REQUIRES", "REGULATES"),
    "meta": ("DEFINES", "CATEGORIZES", "RELATED_TO"),
}
TYPES = frozenset(one for group in BUILT_IN.values() for one in group)
#: What an extractor that says nothing means.
ANY = "RELATED_TO"
LONGEST = 100
#: Spelled like this much of a hundred, it is a slip of the pen.
CLOSE = 90

#: The same seen from the other end, where it is not made with _BY.
_INVERSES = {
    "FOLLOWS": "PRECEDES", "HAS_PART": "PART_OF", "EVOLVES_FROM": "EVOLVES_INTO", "RESULTS_IN": "RESULTS_FROM",
    "CONTAINED_IN": "CONTAINS", "COMPOSES": "COMPOSED_OF",
}  # fmt: skip
_AUXILIARY = re.compile(r"^(?:(?:IS|ARE|WAS|WERE|BE|BEING|HAS_BEEN|HAVE_BEEN|CAN_BE|MAY_BE)_)+(?=[A-Z]{2})")
#: What turns a word into its opposite: such a word is never a misspelling of one without it.
_NEGATIONS = ("UN", "NON", "NOT", "NO_", "DIS", "IN", "IM", "IR", "ANTI", "COUNTER", "DE", "MIS", "NEVER")
_DENIED = re.compile(r"(?:^|_)(?:NOT|NO|NEVER|NON|WITHOUT|CANNOT)(?:_|$)")
_ENDINGS = ("ING", "IES", "IED", "ED", "ES", "S", "E", "Y")


@dataclass(frozen=True)
class Normal:
    """`swapped`: the ends change places."""

    type: str
    swapped: bool = False


@lru_cache(maxsize=10_000)
def normalise(given: str) -> Normal:
    text = _snake(given)
    if text in TYPES:
        return Normal(text)
    bare = _AUXILIARY.sub("", text)
    if _DENIED.search(bare):
        return Normal(text)
    if bare.endswith("_BY") and (base := _meant(bare.removesuffix("_BY"))):
        return Normal(base, swapped=True)
    for inverse, base in _INVERSES.items():
        if _stem(bare) == _stem(inverse):
            return Normal(base, swapped=True)
    if bare.endswith("_BY"):  # nobody's other end that we know: WRITTEN_BY is no misspelling of anything
        return Normal(bare)
    return Normal(_meant(bare) or bare)


def _snake(given: str) -> str:
    plain = unicodedata.normalize("NFKD", given[: 4 * LONGEST]).encode("ascii", "ignore").decode()
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", plain)
    text = re.sub(r"[^A-Z0-9]+", "_", spaced.upper()).strip("_")
    if not text:
        return ANY
    return (text if text[0].isalpha() else f"T_{text}")[:LONGEST].rstrip("_")


def _meant(text: str) -> str | None:
    if text in TYPES:
        return text
    return _BY_STEM.get(_stem(text)) or _misspelt(text)


def _stem(text: str) -> str:
    return "_".join(_stem_of_word(word) for word in text.split("_"))


def _stem_of_word(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 2:
            return word.removesuffix(ending)
    return word


def _misspelt(text: str) -> str | None:
    known = [one for one in sorted(TYPES) if not _opposed(text, one)]
    found = process.extractOne(text, known, scorer=fuzz.ratio, score_cutoff=CLOSE) if len(text) >= 5 else None
    return found[0] if found else None


def _opposed(one: str, other: str) -> bool:
    return any(one.startswith(negation) != other.startswith(negation) for negation in _NEGATIONS)


_BY_STEM = {_stem(one): one for one in sorted(TYPES)}
