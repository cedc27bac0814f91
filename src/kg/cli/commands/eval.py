"""`kg eval`: how good the local models are, on annotated documents and questions."""

from __future__ import annotations

import argparse
import asyncio
import textwrap

from kg.config import KgSettings
from kg.evaluation.data import folder
from kg.evaluation.report import Row
from kg.evaluation.run import rows
from kg.local.embedding import LocalEmbed
from kg.local.extractor import LocalExtractor
from lanework.cli.output import Column, add_output, plain, say, show, write


def _figure(row: Row) -> str:
    if row.figure is None:
        return "skipped"
    return f"{row.figure:.3f}" if row.figure <= 1 else f"{row.figure:,.0f}"


def _verdict(row: Row) -> str:
    return "" if row.reached is None else "reached" if row.reached else "BELOW"


def _within(row: Row) -> str:
    return "" if row.within is None else f"{row.within.low:.3f}–{row.within.high:.3f}"


COLUMNS: list[Column[Row]] = [
    Column("MEASURE", lambda it: it.name),
    Column("FIGURE", _figure, right=True),
    Column("95 % WITHIN", _within),
    Column("TARGET", lambda it: "" if it.target is None else f"{it.target:.2f}", right=True),
    Column("", _verdict, colour=lambda it: "red" if it.reached is False else "green"),
]


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", metavar="FOLDER", help="where the annotated data is (default: KG_EVAL)")
    parser.add_argument("--quick", action="store_true", help="fewer documents and questions: an impression, no figure to quote")
    add_output(parser, ids=False)


def run(options: argparse.Namespace) -> int:
    settings = KgSettings.load(eval=options.data)
    found = asyncio.run(_measure(options, settings))
    show(options.output, found, COLUMNS, record=lambda row: {**plain(row), "reached": row.reached, "quick": options.quick})
    if options.output == "table":
        write("", *(line for row in found for line in _told(row)))
    if options.quick:
        say("--quick: on fewer documents, questions and passages; run it without --quick for figures to quote")
    if options.output == "table" and any(row.figure is None for row in found):
        write(f"no data in {folder(settings.eval)}")
    below = [row.name for row in found if row.reached is False]
    return 1 if below and not options.quick else 0


def _told(row: Row) -> list[str]:
    """What it was measured on, and what else there is to say: below the table, which has no room for it."""
    on = f"{row.items:,} {row.what}" if row.items else ""
    told = "; ".join(part for part in (on, row.split, row.note) if part)
    return textwrap.wrap(f"{row.name}: {told}", 80, subsequent_indent="  ")


async def _measure(options: argparse.Namespace, settings: KgSettings) -> list[Row]:
    place = folder(settings.eval)
    embed, extractor = LocalEmbed(settings.local_folder, threads=settings.local_threads), LocalExtractor()
    found: list[Row] = []
    async for row in rows(place, embed, extractor, quick=options.quick):
        found.append(row)
        if options.output == "table":
            say(f"{row.name}: {_figure(row)}")
    return found
