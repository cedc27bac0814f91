"""A graph of any size: clustered vectors, degrees after a power law, texts of common and rare words, evidence for everything."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg

MODEL = "bench"
TYPES = ("SUPPORTS", "CONTRADICTS", "CAUSES", "PART_OF", "REQUIRES", "SIMILAR_TO", "PRECEDES", "USED_FOR")
_STAGE = "create temp table staged (id bigint, ontology int, label text, description text, vector vector) on commit drop"
_FILL = """
insert into kg.concepts (id, ontology_id, label, type, description, space, embedding, seen_count, words) overriding system value
select s.id, o.id, s.label, 'thing', s.description, %(space)s, s.vector, 2,
    setweight(to_tsvector('english', s.label), 'A') || setweight(to_tsvector('english', s.description), 'C')
from staged s join kg.ontologies o on o.name = 'bench-' || s.ontology
"""
_INDEXED = (
    """insert into kg.indexed (concept_id, ontology_id, space, embedding)
       select id, ontology_id, space, embedding::halfvec from kg.concepts""",
    "delete from kg.unindexed",
)
#: One source speaks of five names.
_EVIDENCE = (
    "insert into kg.blobs (hash, data) select sha256(name::bytea), '' from kg.ontologies",
    """insert into kg.documents (id, ontology_id, hash, name, media_type, size) overriding system value
       select o.id, o.id, sha256(o.name::bytea), o.name || '.txt', 'text/plain', 1 from kg.ontologies o""",
    """insert into kg.sources (id, document_id, hash, ordinal, start, own, finish, text) overriding system value
       select c.id / 5, min(c.ontology_id), sha256((c.id / 5)::text::bytea), c.id / 5, 0, 0, 100,
           string_agg(c.label || ' is ' || c.description || '. ', '' order by c.id)
       from kg.concepts c group by 1, c.id / 5""",
    """insert into kg.names (id, ontology_id, form, label, concept_id) overriding system value
       select id, ontology_id, lower(label), label, id from kg.concepts""",
    """insert into kg.mentions (name_id, source_id, label) select id, id / 5, label from kg.concepts""",
    """insert into kg.instances (name_id, source_id, start, finish, quote)
       select c.id, s.id, strpos(s.text, c.label) - 1, strpos(s.text, c.label) - 1 + length(c.label), c.label
       from kg.concepts c join kg.sources s on s.id = c.id / 5""",
    """insert into kg.claims (source_id, from_name, to_name, type, tier, confidence)
       select from_id / 5, from_id, to_id, type, tier, confidence from kg.relations on conflict do nothing""",
)


@dataclass(frozen=True)
class Size:
    concepts: int = 100_000
    relations: int = 500_000
    dimensions: int = 384
    clusters: int = 500


@dataclass(frozen=True)
class Synthetic:
    """What was made: the vectors, and how long the index over them took."""

    size: Size
    vectors: Any
    edges: Any
    index_seconds: float


def load(db: psycopg.Connection[Any], size: Size, seed: int = 7) -> Synthetic:
    """Into an empty platform, by COPY; then the index over its vectors, as for a graph that comes from a backup."""
    import numpy as np  # noqa: PLC0415 - comes with the local models

    chance = np.random.default_rng(seed)
    vectors = _vectors(np, chance, size)
    # most are in the first ontology, few in the last
    of = np.searchsorted(np.cumsum([0.9, 0.06, 0.03]), chance.random(size.concepts))
    edges = _edges(np, chance, size, of)
    space = _prepare(db, size)
    with db.transaction(), _without_index(db, space) as build:
        db.execute(_STAGE)
        with db.cursor().copy("copy staged from stdin with (format binary)") as copy:
            copy.write(b"PGCOPY\n\xff\r\n\0" + struct.pack("!ii", 0, 0))
            for row in _rows(np, chance, size, vectors, of):
                copy.write(row)
            copy.write(struct.pack("!h", -1))
        db.execute(_FILL, {"space": space})
        for statement in _INDEXED:
            db.execute(statement.encode())
        _relate(db, chance, edges)
        for statement in _EVIDENCE:
            db.execute(statement.encode())
    db.execute("vacuum (analyze)")
    return Synthetic(size, vectors, edges, build.seconds)


@dataclass
class _Build:
    seconds: float = 0.0


@contextmanager
def _without_index(db: psycopg.Connection[Any], space: int) -> Iterator[_Build]:
    build, name = _Build(), f"indexed_near_{space}"
    (made,) = db.execute("select pg_get_indexdef(('kg.' || %s)::regclass)", [name]).fetchall()[0]
    db.execute(f"drop index kg.{name}".encode())
    yield build
    db.execute("set local maintenance_work_mem = '512MB'")
    began = time.monotonic()
    db.execute(made.encode())
    build.seconds = time.monotonic() - began


def _vectors(np: Any, chance: Any, size: Size) -> Any:
    centres = chance.standard_normal((size.clusters, size.dimensions))
    member = np.arange(size.concepts) % size.clusters
    found = centres[member] + 0.8 * chance.standard_normal((size.concepts, size.dimensions))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def queries(made: Synthetic, count: int, seed: int = 11) -> Any:
    """Near concepts, and not one of them."""
    import numpy as np  # noqa: PLC0415

    chance = np.random.default_rng(seed)
    base = made.vectors[chance.integers(0, len(made.vectors), count)]
    found = base + 0.03 * chance.standard_normal(base.shape)
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def _edges(np: Any, chance: Any, size: Size, of: Any) -> Any:
    """(from, to), ids from 1, within an ontology; a few concepts are hubs."""
    weights = np.arange(1, size.concepts + 1) ** -0.75
    hubs = chance.permutation(size.concepts)
    wanted = int(size.relations * 1.5)
    to = hubs[chance.choice(size.concepts, wanted, p=weights / weights.sum())]
    pairs = np.stack([chance.integers(0, size.concepts, wanted), to], axis=1)
    pairs = np.unique(pairs[(pairs[:, 0] != pairs[:, 1]) & (of[pairs[:, 0]] == of[pairs[:, 1]])], axis=0)
    found = chance.permutation(pairs)[: size.relations]
    return np.stack([found[:, 0] + 1, found[:, 1] + 1, of[found[:, 0]]], axis=1)


def _prepare(db: psycopg.Connection[Any], size: Size) -> int:
    for number in range(4):
        db.execute("insert into kg.ontologies (name) values (%s)", [f"bench-{number}"])
    for type in TYPES:
        db.execute("insert into kg.vocabulary (type) values (%s) on conflict do nothing", [type])
    space = int(db.execute("select kg.use_space(%s, %s)", [MODEL, size.dimensions]).fetchall()[0][0])
    for number, type in enumerate(TYPES):
        stance = {0: 1.0, 1: -1.0}.get(number, 0.1)
        db.execute("insert into kg.stances (type, space, stance) values (%s, %s, %s)", [type, space, stance])
    return space


def _rows(np: Any, chance: Any, size: Size, vectors: Any, of: Any) -> Iterator[bytes]:
    words = np.minimum(chance.zipf(1.3, (size.concepts, 11)), 20_000)
    sent = vectors.astype(">f4")
    head = struct.pack("!hh", size.dimensions, 0)
    for n in range(size.concepts):
        label = f"{word(words[n, 0])} {word(words[n, 1])} {n + 1}"
        description = " ".join(word(one) for one in words[n, 2:])
        yield _row([
            struct.pack("!q", n + 1), struct.pack("!i", int(of[n])), label.encode(), description.encode(), head + sent[n].tobytes(),
        ])  # fmt: skip


def _row(fields: Iterable[bytes]) -> bytes:
    parts = [struct.pack("!i", len(one)) + one for one in fields]
    return struct.pack("!h", len(parts)) + b"".join(parts)


def word(number: int) -> str:
    """Letters alone: no stemmer changes them much, and no two numbers give the same."""
    text, left = "", int(number) + 20
    while left:
        left, letter = divmod(left, 20)
        text += "bcdfghjklmnpqrstvwxz"[letter] + "aiou"[letter % 4]
    return text


def _relate(db: psycopg.Connection[Any], chance: Any, edges: Any) -> None:
    kinds = chance.integers(0, len(TYPES), len(edges))
    sure = 0.2 + 0.8 * chance.random(len(edges))
    rows = db.execute("select name, id from kg.ontologies").fetchall()
    ids = {int(name.removeprefix("bench-")): id for name, id in rows}
    with db.cursor().copy("copy kg.relations (ontology_id, from_id, to_id, type, tier, confidence) from stdin") as copy:
        for (start, end, of), kind, confidence in zip(edges.tolist(), kinds.tolist(), sure.tolist(), strict=True):
            tier = "precise" if confidence > 0.5 else "weak"
            copy.write_row((ids[of], start, end, TYPES[kind], tier, round(confidence, 4)))
