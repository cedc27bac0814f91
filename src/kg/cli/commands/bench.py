"""`kg bench …`: the words after it are the benchmark's own."""

from __future__ import annotations

import argparse

from kg.bench import command

RAW = True


def run(options: argparse.Namespace) -> int:
    words: list[str] = list(options.words)
    if getattr(options, "dsn", None) and "--dsn" not in words:
        words += ["--dsn", options.dsn]
    return command.main(words)
