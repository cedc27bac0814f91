"""The local models, loaded once for all tests of a process."""

from __future__ import annotations

from functools import cache

from kg.local.embedding import LocalEmbed
from kg.local.extractor import LocalExtractor


@cache
def local_embed() -> LocalEmbed:
    model = LocalEmbed()
    model.load()
    return model


@cache
def local_extractor() -> LocalExtractor:
    model = LocalExtractor()
    model.load()
    return model
