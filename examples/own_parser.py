"""A parser of your own: tables in CSV files become one sentence per row. It runs in a process with limits, as the others do.

For `kg`, put the class and the `register` line in a module and name it in KG_IMPORTS, or as an entry point of the group
`kg.parsers`.
"""

import asyncio
import csv

from kg.documents.decoding import decode
from kg.documents.parsers import register
from kg.documents.parsing import parse
from kg.documents.sniffing import sniff
from kg.errors import KgError, Unreadable
from kg.ingest.chunker import WordChunker
from kg.parts import Parsed

FILE = b"name,born,known for\nAda Lovelace,1815,the first program\nGrace Hopper,1906,the first compiler\n"


class CsvParser:
    media_types = ("text/csv",)

    def parse(self, data: bytes, name: str) -> Parsed:
        text, warnings = decode(data)
        head, *rows = csv.reader(text.splitlines())
        if not rows:
            raise Unreadable("there are no rows in it", reason="no_text")
        told = ["; ".join(f"{what}: {value}" for what, value in zip(head, row, strict=False)) + "." for row in rows]
        return Parsed("\n\n".join(told), name.removesuffix(".csv"), {"rows": len(rows)}, tuple(warnings))


register(CsvParser(), suffixes=[".csv"])


async def main() -> None:
    parsed = await parse(FILE, sniff(FILE, "people.csv"), "people.csv")
    print(parsed.title, parsed.meta)
    for chunk in WordChunker(target=10, overlap=2).chunks(parsed.text):
        print(f"{chunk.own}-{chunk.end}: {parsed.text[chunk.own : chunk.end].strip()}")
    try:
        await parse(b"only,a,head\n", "text/csv", "empty.csv")
    except KgError as error:
        print(error.code, error)


if __name__ == "__main__":
    asyncio.run(main())
