"""A synthetic graph that can be written to: its names have what they are found by."""

from __future__ import annotations

from typing import Any

import psycopg

from kg.bench.synthetic import MODEL, Synthetic
from kg.graph.keys import keys
from kg.graph.likeness import Named, form
from kg.graph.sketch import sketches

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
        for at in range(0, len(names), 1000):
            _mark(db, names[at : at + 1000], made.vectors, space)
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
    made = sketches(vectors[[id - 1 for id, _, _ in names]], [ontology for _, ontology, _ in names], space)
    with db.cursor().copy("copy kg.marks (name_id, ontology_id, space, sketch, corners, keys) from stdin") as copy:
        for (id, ontology, label), its_form, one in zip(names, forms, made, strict=True):
            copy.write_row((id, ontology, space, one.bits, one.bands, keys(Named(its_form, label))))
