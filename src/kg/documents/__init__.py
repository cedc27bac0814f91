"""Documents: accepted once, read, replaced, deleted."""
