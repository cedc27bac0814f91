"""The process without job code. It keeps the worker's claims alive, and gives them back when the worker is dead."""
