"""Forms of an export. Labels are anybody's texts: each form has its own way to keep them from being more than text."""

from kg.graph.formats.csv import Csv
from kg.graph.formats.cypher import Cypher
from kg.graph.formats.form import Concept, Form, Relation
from kg.graph.formats.graphml import GraphML
from kg.graph.formats.jsonld import JsonLd

__all__ = ["Concept", "Csv", "Cypher", "Form", "GraphML", "JsonLd", "Relation"]
