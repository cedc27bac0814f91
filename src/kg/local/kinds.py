"""What a name says of its bearer by itself: an Island is a place, whatever the recogniser takes it for."""

from __future__ import annotations

import re

from kg.graph.acronyms import looks_like_acronym

_BY_HEAD = {
    word: type
    for type, words in (
        (
            "place",
            "bay beach canyon county desert forest gulf island islands lake mountain mountains ocean peninsula river sea valley",
        ),
        (
            "organization",
            "ag agency association bank club college commission committee company consortium cooperative corp corporation council"
            " federation foundation gmbh group holdings inc institute llc ltd ministry museum party plc society union university",
        ),
        ("facility", "abbey airport bridge castle cathedral harbour hospital stadium station tower"),
        ("event", "olympics war"),
    )
    for word in words.split()
}
_BEFORE_PERSONS = frozenset((
    "dr", "mr", "mrs", "ms", "prof", "sir", "dame", "lord", "lady", "king", "queen", "prince", "princess", "emperor", "empress",
    "duke", "duchess", "pope", "captain", "colonel", "lieutenant", "sergeant", "senator", "grandma", "grandpa", "aunt", "uncle",
))  # fmt: skip
_INITIAL = re.compile(r"[A-DF-MO-RT-VX-Z]\.")  # N. Korea, S. Carolina
#: What the recogniser is often wrong about. A facility or an event it hardly ever makes up.
_DOUBTFUL = frozenset(("", "person", "organization", "place", "product", "work"))


def kind(type: str, words: list[str]) -> str:
    """The type of a name with these words."""
    if type == "person" and len(words) == 1 and looks_like_acronym(words[0]):
        return ""
    if type not in _DOUBTFUL or len(words) < 2:
        return type
    head = words[words.index("of") - 1] if "of" in words[1:] else words[-1]  # the University of Oslo
    said = _BY_HEAD.get(head.casefold().rstrip("."))
    if said is not None:
        return said if type in ("", "person") else type
    if words[0].casefold().rstrip(".") in _BEFORE_PERSONS and "of" not in words:
        return "person"
    if _INITIAL.fullmatch(words[0]) and words[-1].istitle() and type in ("", "place"):
        return "person"
    return "product" if type == "person" and any(map(str.isdecimal, words[-1])) else type
