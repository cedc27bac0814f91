"""The steps from text to graph."""
