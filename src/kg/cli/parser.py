"""The tree of `kg` commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from lanework.cli.parser import LazyParser, add_commands

COMMANDS = {
    "up": "everything in one command: PostgreSQL, workers, HTTP",
    "serve": "HTTP only",
    "work": "workers only",
    "ingest": "take documents: files, folders, addresses, or - for stdin",
    "docs": "list, show, delete and run documents again",
    "ontologies": "list, create, freeze and delete ontologies",
    "search": "find concepts, or passages, by meaning and by words",
    "related": "what is around a concept",
    "path": "how two concepts are connected, step by step",
    "show": "all about a concept: facts, quotes, relations",
    "graph": "the graph as a file",
    "users": "list, add and change users",
    "tokens": "list, create and revoke API tokens",
    "roles": "list, show, set and remove roles",
    "audit": "the audit log",
    "eval": "how good the local models are, measured",
    "admin": "workers and lanes of a running server, over HTTP",
    "bench": "measure the platform",
}
GROUPS = {
    "docs": {
        "list": "documents, newest first",
        "show": "one document, and what is wrong with it",
        "text": "the text that was found in a document",
        "retry": "do again what failed of a document",
        "delete": "delete documents, and what only they supported",
    },
    "ontologies": {
        "list": "ontologies and how large they are",
        "create": "an empty ontology",
        "set": "describe, freeze, pin or activate an ontology",
        "delete": "delete an ontology with all its documents",
    },
    "users": {
        "list": "users and their roles",
        "add": "add a user",
        "set": "change a user",
        "link": "a link that logs a user in, once",
    },
    "roles": {
        "list": "roles and what they allow",
        "show": "what one role allows, and who has it",
        "set": "add a role, or say anew what it allows",
        "remove": "remove a role; built-in ones stay",
    },
    "tokens": {"list": "API tokens", "create": "create a token; its secret is shown once", "revoke": "revoke a token"},
    "graph": {"export": "GraphML, JSON-LD, CSV or Cypher"},
    "admin": {"workers": "slots, lanes and active jobs; `workers lanes`: each lane's settings"},
    "audit": {"list": "what operators did, newest first", "verify": "check that no row was changed or taken out"},
}
EPILOG = """exit codes:
  0  done                        3  no (safe) database, no server
  1  failed; or the audit log    4  not the right schema
     was tampered with           5  no such thing
  2  wrong usage or setting    130  interrupted

The database is KG_DSN, else LANEWORK_DSN, else an embedded PostgreSQL in the
folder LANEWORK_DATA. What is about documents and the graph, and `kg admin`,
asks the server that KG_URL and KG_TOKEN name, else the one that `kg up` has
started here. NO_COLOR turns colours off; without a terminal there are none."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    return build().parse_args(_listed(argv))


def _listed(argv: Sequence[str]) -> list[str]:
    """`kg docs`, with options or without, is `kg docs list`."""
    first, rest = argv[:1], list(argv[1:])
    bare = not rest or (rest[0].startswith("-") and rest[0] not in ("-h", "--help"))
    return [*first, "list", *rest] if first and bare and "list" in GROUPS.get(first[0], {}) else list(argv)


def build() -> LazyParser:
    parser = LazyParser(
        "kg", description="The knowledge-graph platform on Lanework.", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    add_commands(parser, COMMANDS, "kg.cli.commands", GROUPS)
    return parser
