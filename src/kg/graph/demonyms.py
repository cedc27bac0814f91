"""Vietnam and Vietnamese: one thing for a reader, a question for a graph."""

from __future__ import annotations

WORTH = 0.62
_ENDINGS = frozenset(("n", "an", "ian", "ean", "nian", "ese", "nese", "ish", "i", "ic", "ner", "er", "ans", "ians"))
#: Those that do not look alike.
_IRREGULAR = [
    frozenset(group.split(","))
    for group in (
        "united states,american,americans", "united kingdom,british,britain", "england,english", "france,french",
        "germany,german,germans", "netherlands,dutch", "switzerland,swiss", "wales,welsh", "ireland,irish", "spain,spanish",
        "greece,greek,greeks", "turkey,turkish", "philippines,filipino", "thailand,thai", "poland,polish", "denmark,danish",
        "sweden,swedish", "finland,finnish", "norway,norwegian", "scotland,scottish", "belgium,belgian",
        "portugal,portuguese", "czech republic,czech", "soviet union,soviet", "china,chinese", "new zealand,new zealander",
        "iceland,icelandic", "europe,european", "hungary,hungarian", "ukraine,ukrainian", "cyprus,cypriot",
    )
]  # fmt: skip


def demonym(one: str, other: str) -> float:
    """Takes forms."""
    if any(one in group and other in group for group in _IRREGULAR):
        return WORTH
    if " " in one + other:
        return 0.0
    short, long = sorted((one, other), key=lambda word: (len(word), word))
    stem = short.rstrip("aeiouy")
    return WORTH if len(stem) >= 4 and long.startswith(stem) and long[len(stem) :] in _ENDINGS else 0.0
