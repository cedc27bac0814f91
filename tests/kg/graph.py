"""A small graph for tests, written as rows, and an embedder whose vectors can be told beforehand."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import psycopg

from kg.parts import Embedded

#: Words that mean the same have the same vector.
SAME = {"automobile": "car", "vehicle": "car", "feline": "cat", "kitten": "cat"}


class TinyEmbed:
    """A bag of words: each has a direction of its own. Counts how often it was asked."""

    name = "tiny"
    dimensions = 64

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked += texts
        return Embedded(tuple(self.vector(text) for text in texts))

    def vector(self, text: str) -> list[float]:
        total = [1e-3] * self.dimensions
        for word in re.findall(r"\w+", text.lower()):
            for n, byte in enumerate(hashlib.shake_128(SAME.get(word, word).encode()).digest(self.dimensions)):
                total[n] += byte / 127.5 - 1
        length = math.sqrt(sum(one * one for one in total))
        return [one / length for one in total]


@dataclass
class Writer:
    """Inserts concepts, with the text that speaks of them, and relations."""

    db: psycopg.Connection[Any]
    embed: TinyEmbed = field(default_factory=TinyEmbed)
    ids: dict[str, int] = field(default_factory=dict)
    documents: dict[str, int] = field(default_factory=dict)
    names: dict[str, int] = field(default_factory=dict)
    sources: dict[str, int] = field(default_factory=dict)

    def one(self, sql: str, *values: Any) -> int:
        return int(self.db.execute(sql.encode(), values).fetchall()[0][0])

    def ontology(self, name: str, by: str = "") -> int:
        return self.one(
            "insert into kg.ontologies (name, created_by) values (%s, %s) on conflict (name) do update set name = excluded.name"
            " returning id", name, by,
        )  # fmt: skip

    @property
    def space(self) -> int:
        return self.one("select kg.use_space(%s, %s)", self.embed.name, self.embed.dimensions)

    def document(self, ontology: str, name: str, text: str) -> int:
        """One source that is the whole of it, and a passage per paragraph."""
        of = self.ontology(ontology)
        document = self.one(
            "with blob as (insert into kg.blobs (hash, data) values (sha256(%s::bytea), '') on conflict do nothing)"
            " insert into kg.documents (ontology_id, hash, name, title, media_type, size)"
            " values (%s, sha256(%s::bytea), %s, %s, 'text/plain', 1) returning id",
            f"{ontology} {name}", of, f"{ontology} {name}", name, name.title(),
        )  # fmt: skip
        source = self.one(
            "insert into kg.sources (document_id, hash, ordinal, start, own, finish, text)"
            " values (%s, sha256(%s::bytea), 0, 0, 0, %s, %s) returning id", document, text, len(text), text,
        )  # fmt: skip
        start = 0
        for ordinal, part in enumerate(text.split("\n\n")):
            self.db.execute(
                "insert into kg.passages (source_id, ontology_id, ordinal, start, finish, text, space, embedding)"
                " values (%s, %s, %s, %s, %s, %s, %s, %s::vector)",
                [source, of, ordinal, start, start + len(part), part, self.space, str(self.embed.vector(part))],
            )
            start += len(part) + 2
        self.documents[name], self.sources[name] = document, source
        return source

    def leaflet(self, ontology: str, name: str, collection: str, *parts: str) -> int:
        """A document without a graph: a piece each."""
        source = self.document(ontology, name, "\n\n".join(parts))
        document, start = self.documents[name], 0
        self.db.execute("delete from kg.passages where source_id = %s", [source])
        for n, part in enumerate(parts):
            meta = json.dumps({"document": document, "name": name, "start": start, "finish": start + len(part)})
            self.db.execute(
                "insert into kg.items (collection, id, text, meta, space, embedding, document_id, source_id)"
                " values (%s, %s, %s, %s, %s, %s::vector, %s, %s)",
                [collection, f"{document}:{n}", part, meta, self.space, str(self.embed.vector(part)), document, source],
            )
            start += len(part) + 2
        return document

    def concept(self, ontology: str, label: str, description: str = "", *, document: str | None = None, type: str = "") -> int:
        """Each place where the document has the label is an instance."""
        of = self.ontology(ontology)
        id = self.one(
            "insert into kg.concepts (ontology_id, label, type, description, space, embedding, words)"
            " values (%s, %s, %s, %s, %s, %s::vector, setweight(to_tsvector('english', %s), 'A') || to_tsvector('english', %s))"
            " returning id",
            of, label, type, description, self.space, str(self.embed.vector(f"{label} {description}")), label, description,
        )  # fmt: skip
        self.ids[label] = id
        self.names[label] = self.one(
            "insert into kg.names (ontology_id, form, label, concept_id) values (%s, %s, %s, %s) returning id", of, label.lower(),
            label, id,
        )  # fmt: skip
        if document is not None:
            self.mention(label, document)
        return id

    def mention(self, label: str, document: str, form: str | None = None) -> None:
        source, name = self.sources[document], self.names[label]
        self.db.execute("insert into kg.mentions (name_id, source_id, label) values (%s, %s, %s)", [name, source, form or label])
        (text,) = self.db.execute("select text from kg.sources where id = %s", [source]).fetchall()[0]
        for found in re.finditer(re.escape(form or label), text):
            self.db.execute(
                "insert into kg.instances (name_id, source_id, start, finish, quote) values (%s, %s, %s, %s, %s)",
                [name, source, found.start(), found.end(), found[0]],
            )
            self.db.execute("update kg.concepts set seen_count = seen_count + 1 where id = %s", [self.ids[label]])

    def relate(
        self, one: str, type: str, other: str, confidence: float = 0.9, *, tier: str = "precise", document: str | None = None,
        direction: str = "forward",
    ) -> int:  # fmt: skip
        self.db.execute("insert into kg.vocabulary (type) values (%s) on conflict do nothing", [type])
        if document is not None:
            self.db.execute(
                "insert into kg.claims (source_id, from_name, to_name, type, tier, confidence) values (%s, %s, %s, %s, %s, %s)",
                [self.sources[document], self.names[one], self.names[other], type, tier, confidence],
            )
        return self.one(
            "insert into kg.relations (ontology_id, from_id, to_id, type, tier, direction, confidence)"
            " select ontology_id, id, %s, %s, %s, %s, %s from kg.concepts where id = %s returning id",
            self.ids[other], type, tier, direction, confidence, self.ids[one],
        )  # fmt: skip


HEART = (
    "The heart pumps blood through the body. Blood carries oxygen to the muscles.\n\n"
    "Smoking damages the heart. Exercise strengthens the heart, and a study contradicts the claim that rest does."
)
MEDICINE = {
    "heart": "an organ that pumps",
    "blood": "what the heart moves",
    "oxygen": "a gas",
    "muscles": "what moves the body",
    "Smoking": "a habit",
    "Exercise": "what keeps one fit",
    "study": "a scientific paper",
}
MACHINES = {"car": "a machine that drives", "engine": "what moves a car", "Fuel": "what burns", "oil": "a liquid"}
CARS = "A car has an engine. The engine needs fuel.\n\nFuel is made from oil."


def fill(writer: Writer) -> None:
    """Two ontologies: `medicine` (a chain heart → blood → oxygen → muscles and what speaks for and against), and `cars`."""
    writer.document("medicine", "heart.txt", HEART)
    for label, said in MEDICINE.items():
        writer.concept("medicine", label, said, document="heart.txt", type="thing")
    writer.relate("heart", "MOVES", "blood", 0.9, document="heart.txt")
    writer.relate("blood", "CARRIES", "oxygen", 0.8, document="heart.txt")
    writer.relate("oxygen", "FEEDS", "muscles", 0.7, document="heart.txt")
    writer.relate("heart", "NEAR", "muscles", 0.2, tier="weak")
    writer.relate("Exercise", "SUPPORTS", "heart", 0.9, document="heart.txt")
    writer.relate("study", "CONTRADICTS", "Smoking", 0.8, document="heart.txt")
    writer.document("cars", "cars.txt", CARS)
    for label, said in MACHINES.items():
        writer.concept("cars", label, said, document="cars.txt")
    writer.relate("car", "HAS", "engine", 0.9, document="cars.txt")
    writer.relate("engine", "NEEDS", "Fuel", 0.9, document="cars.txt")
    writer.relate("Fuel", "MADE_FROM", "oil", 0.9, document="cars.txt")
