"""Models that run in this process, without a key and without a network."""
