"""The parts of the embedded PostgreSQL. `lanework.embedded` is the door; nothing else imports from here."""
