"""One file per row."""
