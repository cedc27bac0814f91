"""Numbers as lists write them."""

from __future__ import annotations

_ROMAN = (
    (1000, "m"), (900, "cm"), (500, "d"), (400, "cd"), (100, "c"), (90, "xc"), (50, "l"), (40, "xl"), (10, "x"), (9, "ix"),
    (5, "v"), (4, "iv"), (1, "i"),
)  # fmt: skip


def letters(number: int) -> str:
    """a, b, … z, aa, ab, …"""
    said = ""
    while number > 0:
        number, rest = divmod(number - 1, 26)
        said = chr(ord("a") + rest) + said
    return said


def roman(number: int) -> str:
    """Up to 3,999; above that nobody writes them."""
    if not 0 < number < 4000:
        return str(number)
    said = ""
    for value, sign in _ROMAN:
        times, number = divmod(number, value)
        said += sign * times
    return said
