"""The parts of `Lanework`, the application: one file for each thing that it is asked for. `lanework.client` puts them together."""
