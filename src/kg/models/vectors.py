"""Vectors as they are stored: as many as texts, all of one size, finite, of length one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from kg.errors import ModelGarbled
from kg.parts import Vector


def check_vectors(vectors: Sequence[Vector], texts: int, dimensions: int | None) -> None:
    """`dimensions`: what they must be; None: whatever the first one has."""
    if len(vectors) != texts:
        raise ModelGarbled(f"expected a vector for each of {texts} texts, got {len(vectors)}")
    size = dimensions or len(vectors[0])
    for place, vector in enumerate(vectors):
        if len(vector) != size:
            raise ModelGarbled(f"expected vectors of {size} numbers, got one of {len(vector)} for text {place}")
        length = math.hypot(*vector)
        if not math.isfinite(length) or length == 0:
            raise ModelGarbled(f"expected numbers that have a direction, got a vector of length {length} for text {place}")


def unit(vector: Vector) -> tuple[float, ...]:
    length = math.hypot(*vector)
    return tuple(float(one) / length for one in vector)
