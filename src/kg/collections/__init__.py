"""Collections: texts and vectors without a graph."""
