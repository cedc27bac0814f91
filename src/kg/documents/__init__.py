"""Documents: where they come from and how their bytes become text."""
