"""Vietnam and Vietnamese: one thing for a reader, a question for a graph."""

from __future__ import annotations

WORTH = 0.62
_ENDINGS = frozenset((
    "n", "an", "ian", "ean", "nian", "anian", "aian", "ese", "nese", "lese", "ish", "i", "ic", "ner", "er", "ans", "ians", "istan",
    "stan",
))  # fmt: skip
#: Those that do not look alike.
_IRREGULAR = [
    frozenset(group.split(","))
    for group in (
        "united states,us,usa,america,american,americans", "united kingdom,uk,british,britain,great britain", "england,english",
        "france,french", "germany,german,germans", "netherlands,holland,dutch", "switzerland,swiss", "wales,welsh",
        "ireland,irish", "spain,spanish", "greece,greek,greeks", "turkey,turkish,turk,turks", "philippines,filipino",
        "thailand,thai", "poland,polish", "denmark,danish", "sweden,swedish,swede", "finland,finnish,finn",
        "norway,norwegian", "scotland,scottish,scots", "belgium,belgian", "portugal,portuguese",
        "czech republic,czechia,czech", "soviet union,ussr,soviet", "china,chinese", "new zealand,new zealander",
        "iceland,icelandic", "europe,european", "hungary,hungarian", "ukraine,ukrainian", "cyprus,cypriot",
        "argentina,argentine,argentinian", "afghanistan,afghan", "peru,peruvian", "iraq,iraqi", "iran,iranian,persia,persian",
        "slovakia,slovak", "slovenia,slovene,slovenian", "croatia,croat,croatian", "serbia,serb,serbian",
        "bosnia,bosnian", "lebanon,lebanese", "malta,maltese", "myanmar,burma,burmese", "cambodia,cambodian,khmer",
        "laos,lao,laotian", "sri lanka,sri lankan,ceylon", "bangladesh,bangladeshi", "mongolia,mongol,mongolian",
        "madagascar,malagasy", "ivory coast,ivorian", "niger,nigerien", "south africa,south african", "saudi arabia,saudi",
        "united arab emirates,emirati,uae", "puerto rico,puerto rican", "costa rica,costa rican", "el salvador,salvadoran",
        "greenland,greenlandic", "flanders,flemish", "brittany,breton", "bavaria,bavarian", "moscow,muscovite",
        "catalonia,catalan", "galicia,galician", "normandy,norman", "lapland,sami", "basque country,basque",
        "christianity,christian,christians", "islam,muslim,muslims,islamic", "judaism,jew,jews,jewish",
        "buddhism,buddhist,buddhists", "hinduism,hindu,hindus", "catholicism,catholic,catholic church",
    )
]  # fmt: skip


def demonym(one: str, other: str) -> float:
    """Takes forms."""
    if any(one in group and other in group for group in _IRREGULAR):
        return WORTH
    *before, one = one.split() or [""]
    *same, other = other.split() or [""]
    if before != same:
        return 0.0
    short, long = sorted((one, other), key=lambda word: (len(word), word))
    stem = short.rstrip("aeiouy")
    return WORTH if len(stem) >= 4 and long.startswith(stem) and long[len(stem) :] in _ENDINGS else 0.0
