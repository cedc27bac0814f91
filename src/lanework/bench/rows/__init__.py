"""One file per row of the table. Each has `measure(bench) -> list[Section]`."""
