"""Repeatable measurements of the engine, with its peers side by side on the same private server.

`python -m lanework.bench --quick` runs all rows; `bench/README.md` names every figure. Nothing imports this package
but the command line.
"""
