"""One file per command: `configure(parser)` says its words, `run(options)` does it and answers the exit code."""
