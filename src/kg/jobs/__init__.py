"""One file per job type."""
