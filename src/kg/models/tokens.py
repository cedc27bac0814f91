"""How many tokens a text has, without anybody's tokenizer."""

from __future__ import annotations

import math

CHARACTERS = 3.9


def likely(*texts: str) -> int:
    """Close for prose in European languages."""
    return math.ceil(sum(map(len, texts)) / CHARACTERS)


def most(*texts: str) -> int:
    """More than any text but noise has: one for two bytes. What is reserved before a call is counted with this."""
    return math.ceil(sum(len(text.encode("utf-8", "replace")) for text in texts) / 2) + 8 * len(texts)
