"""The types of relations: which there are, and what an incoming one is."""
