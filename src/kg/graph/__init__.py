"""The graph: how it is read, and how chunks become part of it."""
