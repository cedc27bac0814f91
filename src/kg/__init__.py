"""The knowledge-graph platform that runs on lanework."""
