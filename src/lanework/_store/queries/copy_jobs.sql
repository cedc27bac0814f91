copy lanework.jobs (id, created_at, run_at, deadline, status, type_id, rank, version, max_tries, owner, tags, payload) from stdin
