"""The graph: which names are one thing, what is stored of them, and how they are found."""
