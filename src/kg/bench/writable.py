"""A synthetic graph that can be written to: its names have what they are found by."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

import psycopg

from kg.bench.synthetic import MODEL, Synthetic
from kg.graph.keys import keys
from kg.graph.likeness import Named, form
from kg.graph.sketch import BANDS, BITS, WIDTH, planes, sketch

#: A context of their own each: whoever mentions them without one does not lead them.
_LEAD = (
    "update kg.names set rank = '\\x00'::bytea || substr(sha256(form::bytea), 1, 15), context = 'a thing'",
    "update kg.mentions m set rank = n.rank, description = n.context from kg.names n where n.id = m.name_id",
    """update kg.concepts c set lead = n.id, rank = n.rank, description = 'a thing' from kg.names n where n.concept_id = c.id""",
    "insert into kg.meanings (name_id, embedding) select id, embedding from kg.concepts",
    "delete from kg.unindexed",
)
_INDEXES = """select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index
where indrelid = 'kg.marks'::regclass and not indisprimary"""


def make_writable(db: psycopg.Connection[Any], made: Synthetic) -> tuple[int, int]:
    """Answers with the ontology that has most of it, and the space."""
    (space,) = db.execute("select id from kg.spaces where model = %s", [MODEL]).fetchall()[0]
    (ontology,) = db.execute("select id from kg.ontologies where name = 'bench-0'").fetchall()[0]
    indexes = db.execute(_INDEXES).fetchall()
    with db.transaction():
        for name, _ in indexes:
            db.execute(f"drop index {name}".encode())
        names = db.execute("select id, ontology_id, label from kg.names order by id").fetchall()
        for at in range(0, len(names), 5000):
            _mark(db, names[at : at + 5000], made.vectors, space)
        for statement in _LEAD:
            db.execute(statement.encode())
        db.execute("set local maintenance_work_mem = '512MB'")
        for _, definition in indexes:
            db.execute(definition.encode())
    for table in ("documents", "sources", "names", "concepts"):  # they were given ids
        db.execute(f"select setval(pg_get_serial_sequence('kg.{table}', 'id'), (select max(id) from kg.{table}))".encode())  # noqa: S608 - our own names
    db.execute("vacuum (analyze)")
    return ontology, space


def _mark(db: psycopg.Connection[Any], names: list[tuple[int, int, str]], vectors: Any, space: int) -> None:
    forms = [form(label) for _, _, label in names]
    db.execute(
        "update kg.names n set form = g.form from unnest(%s::bigint[], %s::text[]) as g (id, form) where n.id = g.id",
        [[id for id, _, _ in names], forms],
    )
    with db.cursor().copy("copy kg.marks (name_id, ontology_id, space, sketch, bands, keys) from stdin") as copy:
        sketches = _sketches(names, vectors, space)
        for (id, ontology, label), its_form, (bits, bands) in zip(names, forms, sketches, strict=True):
            copy.write_row((id, ontology, space, bits, bands, keys(Named(its_form, label))))


def _sketches(names: list[tuple[int, int, str]], vectors: Any, space: int) -> Iterator[tuple[str, list[int]]]:
    """As `kg.graph.sketch`, of many at once."""
    import numpy as np  # noqa: PLC0415 - as in `synthetic`

    some = vectors[[id - 1 for id, _, _ in names]].astype(float)
    a, b, c, d = np.array(planes(some.shape[1])).T
    bits = ((some[:, a] + some[:, b]) > (some[:, c] + some[:, d])).reshape(-1, BANDS, WIDTH)
    numbers = np.arange(BANDS) << WIDTH | (bits * (1 << np.arange(WIDTH - 1, -1, -1))).sum(axis=2)
    kept = bits[:, :, : BITS // BANDS].reshape(-1, BITS)
    first = sketch(some[0].tolist(), ontology=names[0][1], space=space)
    for at, (_, ontology, _) in enumerate(names):
        found = ((numbers[at] ^ zlib.crc32(f"{ontology}:{space}".encode())) & 0x7FFFFFFF).tolist()
        if at == 0 and found != first.bands:
            raise AssertionError("these are not the sketches that the platform makes")
        yield "".join("1" if bit else "0" for bit in kept[at]), found
