"""Ontologies: graphs with a name, and documents of their own."""
