"""One name inside another: a surname in a full name, a company without its legal form, `Spurs` in `San Antonio Spurs`."""

from __future__ import annotations

_TITLES = frozenset((
    "mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "dame", "lord", "lady", "king", "queen", "prince",
    "princess", "emperor", "empress", "pope", "saint", "st", "president", "general", "gen", "colonel", "col", "captain",
    "capt", "lieutenant", "lt", "major", "sergeant", "sgt", "admiral", "senator", "sen", "governor", "gov", "judge",
    "justice", "reverend", "rev", "bishop", "archbishop", "cardinal", "count", "duke", "baron", "chief", "minister",
    "chancellor", "ambassador", "secretary", "coach", "sheikh",
))  # fmt: skip
_COMPANY = frozenset((
    "inc", "incorporated", "corp", "corporation", "co", "company", "ltd", "limited", "llc", "llp", "plc", "gmbh", "ag", "sa",
    "nv", "bv", "oy", "ab", "spa", "srl", "pty", "group", "holding", "holdings",
))  # fmt: skip
#: What a place is, in its name: Hubei is Hubei Province. Anything else there is another thing: an airport, a river, a school.
_OF_PLACES = frozenset((
    "area", "archipelago", "canton", "city", "commonwealth", "county", "department", "district", "governorate", "island",
    "islands", "kingdom", "municipality", "oblast", "of", "prefecture", "province", "region", "republic", "shire", "state",
    "states", "territory", "the", "town", "township", "village",
))  # fmt: skip
_WAYS = frozenset(("central", "east", "eastern", "new", "north", "northern", "old", "south", "southern", "west", "western"))
#: Worth of a name at the beginning and at the end of a longer one, by type.
_BEGINS = {"organization": 0.76, "": 0.70, "facility": 0.35}
_ENDS = {"organization": 0.84, "": 0.76}
#: Of what a name is worth that could as well stand for another one of its text.
_RIVALLED, _NAMESAKE = 0.6, 0.8
_SURE = True


def contained(one: str, other: str, type: str, *, named: bool, rivals: int) -> tuple[float, bool]:
    """What it is worth, and whether it holds everywhere. Takes forms."""
    short, long = sorted((one.split(), other.split()), key=lambda words: (len(words), words))
    if type == "person":
        return _person(short, long, rivals)
    bare = [word for word in long if word not in _COMPANY]
    if bare and type in ("organization", "") and bare == [word for word in short if word not in _COMPANY]:
        return 0.94, _SURE
    if not 0 < len(short) < len(long) or sum(map(len, short)) < 3 or not set(short) <= set(long):
        return 0.0, False
    if not named:
        return 0.30, False
    worth = _place(short, long) if type == "place" else _part(short, long, type)
    return worth * (_RIVALLED if rivals else 1.0), False


def _part(short: list[str], long: list[str], type: str) -> float:
    if long[-len(short) :] == short:
        return _ENDS.get(type, 0.60) - 0.12 * (len(short) > 1)
    if long[: len(short)] == short:
        return _BEGINS.get(type, 0.50) - 0.06 * (len(short) > 1)
    return 0.48


def _place(short: list[str], long: list[str]) -> float:
    rest = set(long) - set(short)
    if rest <= _OF_PLACES:
        return 0.58 + 0.12 * (len(short) > 1)
    return 0.32 if rest <= _WAYS else 0.22


def _person(short: list[str], long: list[str], rivals: int) -> tuple[float, bool]:
    bare = ([word for word in name if word not in _TITLES] or name for name in (short, long))
    short, long = sorted(bare, key=lambda name: (len(name), name))
    if short == long:
        return (0.95, _SURE) if len(short) > 1 else (0.85, False)  # Dr. Jane Doe; but a King John is not every John
    if len(short) == 1:
        return (0.0, False) if len(short[0]) < 2 else (_one_word(short[0], long) * (_NAMESAKE if rivals else 1.0), False)
    if short[-1] == long[-1] and _initialled(short[:-1], long[:-1]):
        return 0.94, False
    return (0.82 if set(short) <= set(long) else 0.0), False


def _one_word(word: str, long: list[str]) -> float:
    if word == long[-1]:
        return 0.93
    return 0.88 if word == long[0] else 0.80 if word in long else 0.0


def _initialled(short: list[str], long: list[str]) -> bool:
    """Does each word stand for the next fitting word of the other? J. F. is John Fitzgerald, and so is John."""
    rest = iter(long)
    return all(any(word == other or (1 in (len(word), len(other)) and word[0] == other[0]) for other in rest) for word in short)
