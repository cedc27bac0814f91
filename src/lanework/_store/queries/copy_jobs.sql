copy lanework.jobs ({columns}) from stdin (format binary)
