copy lanework.jobs (id, turn, created_at, run_at, deadline, status, type_id, lane_id, rank, version, max_tries, owner, session, blocked_on, tags, payload) from stdin
