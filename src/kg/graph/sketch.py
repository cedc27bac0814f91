"""Which vectors may be near: an answer that depends on the two of them alone.

The nearest k of a name change with every name that comes; an index that approximates them remembers in which order they came. So
neither can say which names are compared, if the graph is not to depend on the order of chunks. Instead each vector is turned
around in some hundred fixed ways, and each time the axis that it lies nearest to, of 64 axes and their opposites, is noted down: a
corner. Two vectors have a corner in common with a chance that falls steeply with the angle between them, much more steeply than the
chance to be on one side of a plane: so a band of three corners that both have is hardly ever an accident, however many there are.
Of pairs at a cosine of 0.75 about two in three share one of the 61 bands, at 0.85 nineteen of twenty, at 0.9 nearly all; of
unrelated ones (0.1) one in five thousand.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

BANDS, WIDTH, AXES, BITS = 61, 3, 64, 256
#: Below this cosine a shared band is chance.
COSINE = 0.7
#: So many of the 256 bits may differ before the vectors themselves are read: at a cosine of 0.7 it is 65 on average and hardly ever
#: more than this, of unrelated vectors 110 to 125.
DIFFERENT = 84

_CORNER = 7  # bits: an axis, and which of its ends
_SMALLEST = 512  # a rotation gives this many coordinates at least, however short the vectors are


@dataclass(frozen=True)
class Sketch:
    """`bits`: on which side of 256 planes. `bands`: corners, three at a time."""

    bits: str
    bands: list[int]


def sketch(vector: Sequence[float], *, ontology: int, space: int) -> Sketch:
    return sketches(np.array([vector]), [ontology], space)[0]


def sketches(vectors: NDArray[Any], ontologies: Sequence[int], space: int) -> list[Sketch]:
    """Of many at once, each of its ontology. As they are stored, in single precision: who reads one back makes the same of it."""
    stored = vectors.astype(np.float32)
    salts = np.array([zlib.crc32(f"{one}:{space}".encode()) for one in ontologies])  # ontologies do not meet in the index
    bands = (_bands(stored) ^ salts[:, None]) & 0x7FFFFFFF
    return [Sketch(bits, row.tolist()) for bits, row in zip(_bits(stored), bands, strict=True)]


# -- bands ---------------------------------------------------------------------------------------------------------------------


def _bands(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    corners = _corners(vectors)[:, : BANDS * WIDTH].reshape(-1, WIDTH, BANDS)
    made = np.broadcast_to(np.arange(BANDS), (len(vectors), BANDS))
    for at in range(WIDTH):
        made = made << _CORNER | corners[:, at]
    return made


def _corners(vectors: NDArray[np.float32]) -> NDArray[np.int64]:
    count, dimensions = vectors.shape
    first, rest = _signs(dimensions)
    size = len(first)
    padded = np.zeros((count, size), np.float32)
    padded[:, :dimensions] = vectors
    turned = _hadamard((_hadamard(padded * first)[:, None] * rest).reshape(-1, size)).reshape(count, -1, AXES)
    axes = np.abs(turned).argmax(axis=2)
    below = np.take_along_axis(turned, axes[:, :, None], axis=2)[:, :, 0] < 0
    found: NDArray[np.int64] = axes << 1 | below
    return found


def _hadamard(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Sums and differences alone, always in the same order: the same digits on every machine."""
    half = rows.shape[1] // 2
    for _ in range(rows.shape[1].bit_length() - 1):
        left, right = rows[:, :half], rows[:, half:]
        rows = np.empty_like(rows)
        np.add(left, right, out=rows[:, 0::2])
        np.subtract(left, right, out=rows[:, 1::2])
    return rows


@cache
def _signs(dimensions: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Of a first turn, which spreads a vector over all coordinates, and of each that follows. Their results are stored with the
    rows: the same in every process, for ever."""
    size = max(_SMALLEST, 1 << (dimensions - 1).bit_length())
    turns = -(-BANDS * WIDTH * AXES // size)
    drawn = hashlib.shake_256(f"kg corners of {dimensions}".encode()).digest((1 + turns) * size // 8)
    signs = np.float32(1) - np.float32(2) * np.unpackbits(np.frombuffer(drawn, np.uint8)).reshape(1 + turns, size)
    return signs[0], signs[1:]


# -- bits ----------------------------------------------------------------------------------------------------------------------


def _bits(vectors: NDArray[np.float32]) -> list[str]:
    a, b, c, d = (vectors[:, column].astype(np.float64) for column in _planes(vectors.shape[1]))
    above = a + b > c + d
    return ["".join("1" if one else "0" for one in row) for row in above.tolist()]


@cache
def _planes(dimensions: int) -> NDArray[np.int64]:
    """A plane's normal has four coordinates that are not zero: as good as a dense one for vectors that are dense, and cheap."""
    return np.array([_plane(number // 4 * 16 + number % 4, dimensions) for number in range(BITS)]).T


def _plane(number: int, dimensions: int) -> tuple[int, ...]:
    drawn = hashlib.sha256(f"kg plane {number} of {dimensions}".encode()).digest()
    return tuple(int.from_bytes(drawn[at : at + 8], "big") % dimensions for at in (0, 8, 16, 24))
