-- What the code of the first landed schemas (lanework 0001 to 0023, kg 0001 to 0005) has stored, row by row: documents that are done, that
-- failed, that wait for approval and for a worker; a merge; jobs that are done, dead, due, not yet due, and held by a worker that is gone.
-- Events, metrics and the audit log are left out. Times are an hour from now, on the side that they were on.
set local session_replication_role = replica; -- rows as they were: no trigger makes others of them
delete from lanework.lanes;
select kg.use_space('fake-embed', 8); -- its indexes too are of that version

insert into lanework.lanes (id, name, max_slots, worker_slots, poll_interval_ms, stale_timeout_minutes, enabled, fair, set_by, updated_at) overriding system value values
    (1, 'default', 1, null, 5000, 30, true, false, 'code', now() - '1 h'::interval),
    (11, 'notifications', 8, null, 5000, 30, true, false, 'code', now() - '1 h'::interval),
    (2, 'lanework', null, 4, 2000, 30, true, false, 'code', now() - '1 h'::interval),
    (3, 'estimates', 2, null, 2000, 30, true, false, 'code', now() - '1 h'::interval),
    (4, 'interactive', 3, null, 100, 30, true, false, 'operator', now() - '1 h'::interval);

insert into lanework.job_types (id, name, lane, set_by, executor, priority, max_tries, timeout_s, never_stale, reports_progress, fair_lane, mixed, approval, approval_above, approval_currency, approval_expiry_s, four_eyes, estimator, estimates, permits, created_at) overriding system value values
    (1, 'add', 'interactive', 'code', 'async', 0, 3, null, false, false, 0, false, 'never', null, 'USD', 86400, false, null, null, '{}', now() - '1 h'::interval),
    (11, 'lanework:notify', 'notifications', 'code', 'async', 0, 10, 6000, false, false, 0, false, 'never', null, 'USD', 86400, false, null, null, '{}', now() - '1 h'::interval),
    (2, 'broken', 'interactive', 'code', 'async', 0, 1, null, false, false, 0, false, 'never', null, 'USD', 86400, false, null, null, '{}', now() - '1 h'::interval),
    (3, 'documents:maintenance', 'lanework', 'code', 'async', 10, 1, 120, false, false, 0, false, 'never', null, 'USD', 86400, false, null, null, '{}', now() - '1 h'::interval),
    (4, 'ingestion', 'interactive', 'code', 'async', 0, 3, null, false, true, 0, false, 'above', 1.0, 'USD', 86400, false, 'ingestion:estimate', null, '{}', now() - '1 h'::interval),
    (5, 'ingestion:estimate', 'estimates', 'code', 'async', 0, 3, 600, false, false, 0, false, 'never', null, 'USD', 86400, false, null, 'ingestion', '{}', now() - '1 h'::interval);

insert into lanework.jobs (id, created_at, run_at, claimed_at, worker_id, continues, claim_id, status, type_id, attempt, lane_id, turn, rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, payload) values
    (11, now() - '1 h'::interval, null, null, null, null, null, 'pending', 4, 0, null, 0, 0, 1, 3, 0, 0, 0, false, 'ada', 'document:5', '{"version": 1, "document": 5}'),
    (12, now() - '1 h'::interval, null, null, null, 11, null, 'approved', 5, 0, null, 0, 0, 1, 3, 0, 0, 0, false, 'ada', null, '{"version": 1, "document": 5}'),
    (13, now() - '1 h'::interval, null, null, null, null, null, 'approved', 1, 0, null, 0, 0, 1, 3, 0, 0, 0, false, null, null, '{"a": 10}'),
    (14, now() - '1 h'::interval, now() + '1 h'::interval, null, null, null, null, 'scheduled', 1, 0, null, 0, 0, 1, 3, 0, 0, 0, false, null, null, '{"a": 20}'),
    (15, now() - '1 h'::interval, null, now() - '1 h'::interval, 3, null, '6b420f4c-d356-4872-ad3b-9aafa3661737', 'running', 1, 1, 4, 0, -1, 1, 3, 0, 0, 0, false, null, null, '{"a": 30}'),
    (9, now() - '1 h'::interval, null, null, null, 10, null, 'awaiting_approval', 4, 0, null, 0, 0, 1, 3, 0, 0, 0, false, 'ada', 'document:4', '{"version": 1, "document": 4}');

insert into lanework.jobs_done (id, created_at, claimed_at, worker_id, continues, claim_id, status, type_id, attempt, lane_id, turn, rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, payload, finished_at, partial, result) values
    (1, now() - '1 h'::interval, now() - '1 h'::interval, 1, 2, 'f5665c43-9bbc-46f9-a279-4ebc701f19d5', 'completed', 4, 1, 4, 0, 0, 1, 3, 0, 0, 0, false, 'ada', 'document:1', '{"version": 1, "document": 1}', now() - '1 h'::interval, false, '{"kept": 0, "chunks": 2, "failed": 0, "version": 1, "document": 1}'),
    (10, now() - '1 h'::interval, now() - '1 h'::interval, 2, 9, '873dc672-943d-4264-963b-85a673404cb0', 'completed', 5, 1, 3, 0, 0, 1, 3, 0, 0, 0, false, 'ada', null, '{"version": 1, "document": 4}', now() - '1 h'::interval, false, '{"low": 2.5, "high": 5.0, "items": 1, "tokens": 220, "seconds": null, "currency": "USD", "warnings": ["there is very little text in it"]}'),
    (2, now() - '1 h'::interval, now() - '1 h'::interval, 1, 1, '021333e9-d78c-4619-8093-0e7445205fe6', 'completed', 5, 1, 3, 0, 0, 1, 3, 0, 0, 0, false, 'ada', null, '{"version": 1, "document": 1}', now() - '1 h'::interval, false, '{"low": 0.0, "high": 0.0, "items": 2, "tokens": 440, "seconds": null, "currency": "USD", "warnings": ["there is very little text in it"]}'),
    (3, now() - '1 h'::interval, now() - '1 h'::interval, 1, 4, '0ff742cc-7db3-4dc8-9a96-1269ae9126af', 'completed', 4, 1, 4, 0, 0, 1, 3, 0, 0, 0, false, 'grace', 'document:2', '{"version": 1, "document": 2}', now() - '1 h'::interval, false, '{"kept": 0, "chunks": 1, "failed": 0, "version": 1, "document": 2}'),
    (4, now() - '1 h'::interval, now() - '1 h'::interval, 1, 3, '021333e9-d78c-4619-8093-0e7445205fe6', 'completed', 5, 1, 3, 0, 0, 1, 3, 0, 0, 0, false, 'grace', null, '{"version": 1, "document": 2}', now() - '1 h'::interval, false, '{"low": 0.0, "high": 0.0, "items": 1, "tokens": 220, "seconds": null, "currency": "USD", "warnings": ["there is very little text in it"]}'),
    (5, now() - '1 h'::interval, now() - '1 h'::interval, 1, null, '94e647b9-71d5-46b9-ac11-77088d9008bd', 'completed', 1, 1, 4, 0, 0, 1, 3, 0, 0, 0, false, null, null, '{"a": 1}', now() - '1 h'::interval, false, '3'),
    (8, now() - '1 h'::interval, now() - '1 h'::interval, 1, 7, '3e5dca51-c52b-4646-868d-49a773b86a13', 'completed', 5, 1, 3, 0, 0, 1, 3, 0, 0, 0, false, 'ada', null, '{"version": 1, "document": 3}', now() - '1 h'::interval, false, '{"low": 0.0, "high": 0.0, "items": null, "tokens": null, "seconds": null, "currency": "USD", "warnings": ["KG-201: there is no text in it"]}');

insert into lanework.jobs_failed (id, created_at, claimed_at, worker_id, continues, claim_id, status, type_id, attempt, lane_id, turn, rank, version, max_tries, tries_used, losses, depth, suspect, owner, session, payload, finished_at, error_class, error_code, error, letter) values
    (6, now() - '1 h'::interval, now() - '1 h'::interval, 1, null, '94e647b9-71d5-46b9-ac11-77088d9008bd', 'failed', 2, 1, 4, 0, 0, 1, 1, 1, 0, 0, false, null, null, '{}', now() - '1 h'::interval, 'unknown', 'LW-420', 'ValueError: it did not work', 1),
    (7, now() - '1 h'::interval, now() - '1 h'::interval, 1, 8, '0ff742cc-7db3-4dc8-9a96-1269ae9126af', 'failed', 4, 1, 4, 0, 0, 1, 3, 0, 0, 0, false, 'ada', 'document:3', '{"version": 1, "document": 3}', now() - '1 h'::interval, 'invalid_input', 'LW-421', 'KG-201: there is no text in it', 2);

insert into lanework.workers (id, name, host, pid, state, ttl, started_at, seen_at, steady_since, ended_at, ended_because, lanes, types, info) overriding system value values
    (1, 'here', 'here', 1, 'stopped', '00:00:30', now() - '1 h'::interval, now() - '1 h'::interval, now() - '1 h'::interval, now() - '1 h'::interval, 'stopped', '{}', '{4,5,3,1,2,11}', '{"clock": 1794781585.7248225, "max_jobs": 2000, "versions": {"1": 1, "2": 1, "3": 1, "4": 1, "5": 1, "11": 1}, "connections": 4}'),
    (2, 'here', 'here', 1, 'stopped', '00:00:30', now() - '1 h'::interval, now() - '1 h'::interval, now() - '1 h'::interval, now() - '1 h'::interval, 'stopped', '{}', '{4,5,3,1,2,11}', '{"clock": 1794781588.414624, "max_jobs": 2000, "versions": {"1": 1, "2": 1, "3": 1, "4": 1, "5": 1, "11": 1}, "connections": 4}'),
    (3, 'here', 'here', 1, 'active', '00:00:03', now() - '1 h'::interval, now() - '1 h'::interval, now() - '1 h'::interval, null, null, '{}', '{}', '{}');

insert into lanework.claims (worker_id, no, claim_id, job_ids) values
    (3, 1, '6b420f4c-d356-4872-ad3b-9aafa3661737', '{15}');

insert into lanework.lane_use (lane_id, worker_id, used, call) values
    (4, 3, 1, 1);

insert into lanework.attempts (job_id, attempt, worker_id, started_at, ended_at, outcome, error_class, error_code, error, traceback) values
    (6, 1, 1, now() - '1 h'::interval, now() - '1 h'::interval, 'fail', 'unknown', 'LW-420', 'ValueError: it did not work', null),
    (7, 1, 1, now() - '1 h'::interval, now() - '1 h'::interval, 'fail', 'invalid_input', 'LW-421', 'KG-201: there is no text in it', null);

insert into lanework.steps (job_id, key, seq, attempt, result, at) overriding system value values
    (1, 'parse', 3, 0, '{"error": "", "title": "Lanes have Slots.", "warnings": [], "text_hash": "ccb9f50c5ba58dcf11bc7c71079d48d842439f6dabd2f8d8386947dea8a32f1c"}', now() - '1 h'::interval),
    (1, 'chunk', 4, 0, '[[0, 0, 19], [19, 19, 37]]', now() - '1 h'::interval),
    (1, 'epoch', 10, 1, '0', now() - '1 h'::interval),
    (1, 'embed:e1dd22cbd63b030f019023e68241ec48', 13, 1, '["q6qqPqyrKz+Pjo4+6+pqP5OSEj/5+Pg9oaCgPrOyMj8="]', now() - '1 h'::interval),
    (1, 'embed:e52e9b563de50d91a324752cc95a47e9', 14, 1, '["goEBP/Hw8D7a2Vk/v74+P/v6+j6FhIQ+8/LyPvPycj8="]', now() - '1 h'::interval),
    (1, 'extract:93eb9edc65771ac29b5477668ad3cb0e', 15, 1, '{"usage": {"cost": 0.0, "tokens_in": 19, "tokens_out": 10}, "dropped": 0, "concepts": [{"key": "Lanes", "type": "", "label": "Lanes", "description": "", "search_terms": []}, {"key": "Slots", "type": "", "label": "Slots", "description": "", "search_terms": []}], "instances": [{"quote": "Lanes", "start": 0, "concept_key": "Lanes"}, {"quote": "Slots", "start": 11, "concept_key": "Slots"}], "relationships": [{"tier": "precise", "type": "USES", "to_key": "Slots", "from_key": "Lanes", "direction": "forward", "confidence": 1.0}]}', now() - '1 h'::interval),
    (1, 'extract:2191ce6ddb01962d6a6e67d0717f3794', 16, 1, '{"usage": {"cost": 0.0, "tokens_in": 18, "tokens_out": 10}, "dropped": 0, "concepts": [{"key": "Workers", "type": "", "label": "Workers", "description": "", "search_terms": []}, {"key": "Jobs", "type": "", "label": "Jobs", "description": "", "search_terms": []}], "instances": [{"quote": "Workers", "start": 0, "concept_key": "Workers"}, {"quote": "Jobs", "start": 13, "concept_key": "Jobs"}], "relationships": [{"tier": "precise", "type": "USES", "to_key": "Jobs", "from_key": "Workers", "direction": "forward", "confidence": 1.0}]}', now() - '1 h'::interval),
    (1, 'embed:94190fec926e2b593d263ebd20323e7a', 17, 1, '["+/r6Pp6dHT+JiAg++vl5P7GwMD35+Hg/p6amPrGwsD4=", "n56ePtjXVz+xsDA+wcDAPL28PD8AAIA/8/LyPuPi4j4="]', now() - '1 h'::interval),
    (1, 'embed:b62a0e67aa886151909dd34733e7cc2c', 21, 1, '["9fT0PvHw8D3KyUk///5+P9nY2D7t7Gw+kZCQPv38fD4=", "vbw8Prm4uD2hoCA/+fh4P9bVVT/BwMA95eRkP5KRET8="]', now() - '1 h'::interval),
    (3, 'embed:f8ed5cb8175f24cba9aaa5d999a72fc4', 20, 1, '["9fT0PvHw8D3KyUk///5+P9nY2D7t7Gw+kZCQPv38fD4=", "n56ePtjXVz+xsDA+wcDAPL28PD8AAIA/8/LyPuPi4j4="]', now() - '1 h'::interval),
    (3, 'epoch', 12, 1, '0', now() - '1 h'::interval),
    (3, 'embed:10c0c3bda27886058d09fe65e6b6e42e', 18, 1, '["3NtbP97dXT/h4GA/8fBwPZOSkj67uro+AACAP7m4OD4="]', now() - '1 h'::interval),
    (3, 'extract:f3bae61f15375608290b665c8360ca42', 19, 1, '{"usage": {"cost": 0.0, "tokens_in": 23, "tokens_out": 10}, "dropped": 0, "concepts": [{"key": "Slots", "type": "", "label": "Slots", "description": "", "search_terms": []}, {"key": "Workers", "type": "", "label": "Workers", "description": "", "search_terms": []}], "instances": [{"quote": "Slots", "start": 0, "concept_key": "Slots"}, {"quote": "Workers", "start": 15, "concept_key": "Workers"}], "relationships": [{"tier": "precise", "type": "USES", "to_key": "Workers", "from_key": "Slots", "direction": "forward", "confidence": 1.0}]}', now() - '1 h'::interval),
    (3, 'parse', 8, 0, '{"error": "", "title": "Slots wait for Workers.", "warnings": [], "text_hash": "dbdde00f495dff2ecff170b46a22be5ab089e3ffcb4951ae52d0ffcac2ff0875"}', now() - '1 h'::interval),
    (3, 'chunk', 9, 0, '[[0, 0, 23]]', now() - '1 h'::interval),
    (7, 'parse', 11, 0, '{"error": "KG-201: there is no text in it", "title": "", "warnings": [], "text_hash": ""}', now() - '1 h'::interval),
    (9, 'chunk', 25, 0, '[[0, 0, 20]]', now() - '1 h'::interval),
    (9, 'parse', 24, 0, '{"error": "", "title": "Leaders sweep Lanes.", "warnings": [], "text_hash": "f90e7bac28dbe54f9fc0319bef0b0f10e06468422625b2b1e2023885ca729832"}', now() - '1 h'::interval);

insert into lanework.estimating (job_id, estimate_id, hash, at) values
    (11, 12, '5c9e82a5463758543f1c3f21dea7fcfd', now() - '1 h'::interval);

insert into lanework.estimates (job_id, estimate_id, hash, low, high, currency, tokens, items, warnings, failed, at) values
    (1, 2, 'b45ae6e07500b625fb9f53fdec2b58bb', 0.0, 0.0, 'USD', 440, 2, '{"there is very little text in it"}', false, now() - '1 h'::interval),
    (3, 4, '69c7a3a80c3efb734fbb79631249a856', 0.0, 0.0, 'USD', 220, 1, '{"there is very little text in it"}', false, now() - '1 h'::interval),
    (7, 8, 'dec4c17a182fc4a6874efd37b9531e57', 0.0, 0.0, 'USD', null, null, '{"KG-201: there is no text in it"}', false, now() - '1 h'::interval),
    (9, 10, '635d6c6a90a786286c90cd5c31a32c83', 2.5, 5.0, 'USD', 220, 1, '{"there is very little text in it"}', false, now() - '1 h'::interval);

insert into lanework.approval_requests (job_id, since, expires_at, why) values
    (9, now() - '1 h'::interval, now() + '1 h'::interval, 'up to 5.0 USD is over 1.0 USD');

insert into lanework.schedules (name, type, payload, version, cron, tz, jitter_s, overlap, misfire, misfire_after_s, enabled, set_by, changed_by, removed, revision, anchor, last_tick, errors, created_at, updated_at) values
    ('nightly', 'add', '{"a": 5}', 1, '0 3 * * *', 'UTC', 0, 'skip', 'one', 60, true, 'operator', 'operator', false, 2, now() - '1 h'::interval, now() - '1 h'::interval, 0, now() - '1 h'::interval, now() - '1 h'::interval);

insert into lanework.budgets (name, amount, per, set_by, updated_at) values
    ('day', '10.000000', 'day', 'operator', now() - '1 h'::interval);

insert into kg.users (id, name, password, created_at) overriding system value values
    (1, 'ada', '$argon2id$v=19$m=65536,t=3,p=4$YQaNM0ZHEMprOfrb+a9s7A$a4QFcBIPcxiBVF7d48n+4/DwPWp1Xdr0uVqC0jXlbak', now() - '1 h'::interval);

insert into kg.user_roles (user_id, role) values
    (1, 'contributor');

insert into kg.ontologies (id, name, description, state, epoch, created_by, created_at) overriding system value values
    (1, 'manual', '', 'active', 6, 'ada', now() - '1 h'::interval);

insert into kg.epochs (ontology_id, epoch, kind, actor, job_id, detail, at) values
    (1, 1, 'chunk', '', null, '{"source": 1}', now() - '1 h'::interval),
    (1, 2, 'chunk', '', null, '{"source": 2}', now() - '1 h'::interval),
    (1, 3, 'chunk', '', null, '{"source": 3}', now() - '1 h'::interval),
    (1, 4, 'ingestion', 'grace', 3, '{"chunks": 1, "failed": 0, "version": 1, "document": 2}', now() - '1 h'::interval),
    (1, 5, 'ingestion', 'ada', 1, '{"chunks": 2, "failed": 0, "version": 1, "document": 1}', now() - '1 h'::interval),
    (1, 6, 'decision: same', 'ada', null, '{"act": 1}', now() - '1 h'::interval);

insert into kg.blobs (hash, data, used_at) values
    ('\xcae5321c0792f36946bd2ed8a8a6f3ad1962d7914f25af6f70aa2ba5919d1a12', 'Leaders are Workers.'::bytea, now() - '1 h'::interval),
    ('\xccb9f50c5ba58dcf11bc7c71079d48d842439f6dabd2f8d8386947dea8a32f1c', 'Lanes have Slots.

Workers take Jobs.'::bytea, now() - '1 h'::interval),
    ('\xda3c01050b1f352b33853bf17e408ba64e0b14423d4f7137a20906ed2e58e679', 'unreadable'::bytea, now() - '1 h'::interval),
    ('\xdbdde00f495dff2ecff170b46a22be5ab089e3ffcb4951ae52d0ffcac2ff0875', 'Slots wait for Workers.'::bytea, now() - '1 h'::interval),
    ('\xf90e7bac28dbe54f9fc0319bef0b0f10e06468422625b2b1e2023885ca729832', 'Leaders sweep Lanes.'::bytea, now() - '1 h'::interval);

insert into kg.documents (id, ontology_id, hash, key, version, name, title, media_type, size, text_hash, characters, owner, provenance, options, job_id, processing_status, stage, chunks, chunks_done, chunks_failed, created_at, updated_at) overriding system value values
    (1, 1, '\xccb9f50c5ba58dcf11bc7c71079d48d842439f6dabd2f8d8386947dea8a32f1c', 'notes/a.txt', 1, 'a.txt', 'Lanes have Slots.', 'text/plain', 37, '\xccb9f50c5ba58dcf11bc7c71079d48d842439f6dabd2f8d8386947dea8a32f1c', 37, 'ada', '{}', '{"ask": false, "graph": true}', 1, 'completed', '', 2, 2, 0, now() - '1 h'::interval, now() - '1 h'::interval),
    (2, 1, '\xdbdde00f495dff2ecff170b46a22be5ab089e3ffcb4951ae52d0ffcac2ff0875', null, 1, 'b.txt', 'Slots wait for Workers.', 'text/plain', 23, '\xdbdde00f495dff2ecff170b46a22be5ab089e3ffcb4951ae52d0ffcac2ff0875', 23, 'grace', '{}', '{"ask": false, "graph": true}', 3, 'completed', '', 1, 1, 0, now() - '1 h'::interval, now() - '1 h'::interval),
    (3, 1, '\xda3c01050b1f352b33853bf17e408ba64e0b14423d4f7137a20906ed2e58e679', null, 1, 'bad.txt', '', 'text/plain', 10, null, null, 'ada', '{}', '{"ask": false, "graph": true}', 7, 'estimating', 'parse', 0, 0, 0, now() - '1 h'::interval, now() - '1 h'::interval),
    (4, 1, '\xf90e7bac28dbe54f9fc0319bef0b0f10e06468422625b2b1e2023885ca729832', null, 1, 'dear.txt', 'Leaders sweep Lanes.', 'text/plain', 20, '\xf90e7bac28dbe54f9fc0319bef0b0f10e06468422625b2b1e2023885ca729832', 20, 'ada', '{}', '{"ask": false, "graph": true}', 9, 'estimating', 'chunk', 0, 0, 0, now() - '1 h'::interval, now() - '1 h'::interval),
    (5, 1, '\xcae5321c0792f36946bd2ed8a8a6f3ad1962d7914f25af6f70aa2ba5919d1a12', null, 1, 'c.txt', '', 'text/plain', 20, null, null, 'ada', '{}', '{"ask": false, "graph": true}', 11, 'queued', '', 0, 0, 0, now() - '1 h'::interval, now() - '1 h'::interval);

insert into kg.sources (id, document_id, hash, copy, ordinal, start, own, finish, text, version, extractor, dropped) overriding system value values
    (1, 1, '\x22b40d050c750f5f9f7c6b6a5e6ce4be318ec0552d839b0c2716f259f2437d99', 0, 0, 0, 0, 19, 'Lanes have Slots.

', 1, 'fake-1', 0),
    (2, 2, '\xf448f8b23fb53f4300b116d9475399783f8318c54472dba13b870a4deffb0887', 0, 0, 0, 0, 23, 'Slots wait for Workers.', 1, 'fake-1', 0),
    (3, 1, '\x8be5b3f96365a702988ca4b41f6c673012fb8c2ff163b6d13f91df2eda6d5955', 0, 1, 19, 19, 37, 'Workers take Jobs.', 1, 'fake-1', 0);

insert into kg.passages (id, source_id, ontology_id, ordinal, start, finish, text, space, embedding) overriding system value values
    (1, 1, 1, 0, 0, 19, 'Lanes have Slots.

', 1, '[0.33333334,0.67058825,0.2784314,0.91764706,0.57254905,0.12156863,0.3137255,0.69803923]'),
    (2, 2, 1, 0, 0, 23, 'Slots wait for Workers.', 1, '[0.85882354,0.8666667,0.8784314,0.05882353,0.28627452,0.3647059,1,0.18039216]'),
    (3, 3, 1, 0, 19, 37, 'Workers take Jobs.', 1, '[0.5058824,0.47058824,0.8509804,0.74509805,0.49019608,0.25882354,0.4745098,0.9490196]');

insert into kg.concepts (id, ontology_id, label, type, description, search_terms, lead, rank, space, embedding, seen_count, first_epoch, last_epoch, words) overriding system value values
    (1, 1, 'Lanes', '', '', '{}', 1, '\x01c2ef33e21c34ccab0d6e70f006c239', 1, '[0.49019608,0.6156863,0.13333334,0.9764706,0.043137256,0.972549,0.3254902,0.34509805]', 1, 1, 1, '''lane'':1A'),
    (2, 1, 'Slots', '', '', '{Jobs}', 2, '\x0118233590d9a0d39c75dbf663705ea3', 1, '[0.30980393,0.84313726,0.17254902,0.023529412,0.7372549,1,0.4745098,0.44313726]', 3, 1, 6, '''job'':2B ''slot'':1A'),
    (3, 1, 'Workers', '', '', '{}', 4, '\x013f60e47fb7a93d80caf1e58e8a284e', 1, '[0.47843137,0.11764706,0.7882353,0.99607843,0.42352942,0.23137255,0.28235295,0.24705882]', 2, 2, 3, '''worker'':1A');

insert into kg.concept_moves (old_id, new_id, form) values
    (4, 2, 'jobs');

insert into kg.names (id, ontology_id, form, label, type, context, rank, seen, concept_id) overriding system value values
    (1, 1, 'lanes', 'Lanes', '', '', '\x01c2ef33e21c34ccab0d6e70f006c239', 1, 1),
    (2, 1, 'slots', 'Slots', '', '', '\x0118233590d9a0d39c75dbf663705ea3', 2, 2),
    (4, 1, 'workers', 'Workers', '', '', '\x013f60e47fb7a93d80caf1e58e8a284e', 2, 3),
    (5, 1, 'jobs', 'Jobs', '', '', '\x0123db562cf11c8d11f0b3b83788557f', 1, 2);

insert into kg.marks (name_id, ontology_id, space, sketch, bands, keys) values
    (1, 1, 1, '1110010010001101110110001101100011101001101101000011001010101010000001111100001101100111011011011001001111111110011011000100100110000101100111110010110010100100001101011100000001111011111001000111010000011011110101000100000111000000111001010010001000100100', '{782198832,782156545,782041542,781996881,781934412,781846700,781800498,781715694,781676431,781586740,781529258,781502860,781434613,781365011,781266214,781199412,781159290,781122684,781011263,780974243,780922063,780858568,780789598,780689320,780606523,780580837,780499747,780429831,780396316,780288654,780256864,780146964,784270510,784259647,784145194,784103742,784051669,783960206,783886961,783863109,783791149,783732879,783632179,783584452,783546376,783432373,783379712,783335660,783283020,783207069,783129207,783040314,782979768,782944018,782880406,782801388,782713404,782666924,782591167,782557026,782478066,782413545,782346452,782289719}', '{S:lane,T:lane,lanes}'),
    (2, 1, 1, '1110010010011001110000110101011111101101100001000101110110100100110110001111000001111101011000010001100001001001100000101100000000010011001110101110100011001000000101001110010100111000011001111011101110101000100000001111100010010101111001011011101100100010', '{782199216,782158389,782047423,781982705,781928138,781891030,781833815,781775503,781674499,781605885,781516954,781503577,781439797,781344445,781263675,781240397,781146967,781062135,781024456,780963570,780924242,780817089,780791634,780703108,780639607,780536505,780518357,780410600,780337173,780312707,780225979,780174096,784308497,784249865,784184699,784084003,784032665,783943250,783894594,783812074,783785738,783729818,783639026,783604318,783531134,783419415,783412523,783349895,783236530,783170300,783100070,783026005,782960443,782926373,782859101,782762716,782702974,782684651,782593070,782557067,782446655,782383659,782347856,782279639}', '{S:slot,T:slot,slots}'),
    (4, 1, 1, '0001100101000110000110001010100000110111011110101010001000010010001101110100111100000010100011001110001110111110011111110001101011001000110011010001010100000111100100110011100011010101100100000000010000010101000101010100111111001110100110110100100011100101', '{782209738,782111114,782093345,782034446,781949887,781847243,781789604,781713776,781693308,781645122,781582325,781462955,781395066,781363554,781294790,781230722,781168748,781119596,781042615,780955919,780896997,780838206,780731597,780684910,780624268,780579838,780480576,780427615,780401914,780302188,780244064,780151019,784286950,784206822,784157324,784095198,784047850,783997229,783910821,783874591,783749365,783725429,783662615,783549857,783507217,783471080,783356629,783319144,783254317,783205651,783128521,783080610,782997972,782949594,782877858,782794147,782714085,782658693,782572273,782512244,782486472,782370140,782328110,782292536}', '{S:worker,T:worker,workers}'),
    (5, 1, 1, '0101010100010111001010001010101100010111111100100110000100010110101101110111100000000010101010000110101110001100000101011011011000000000110000011111010100001111111000100001101011101101000100000001010001010111001000011001111100001110000110100100100011001101', '{782225740,782162410,782081056,782040590,781951804,781846656,781790084,781729200,781687280,781645322,781549557,781495783,781444555,781359222,781292736,781249203,781136044,781119738,781055894,780928279,780895205,780840894,780740685,780666983,780658177,780547071,780469398,780421465,780377274,780326381,780218460,780200171,784305642,784237030,784157360,784111562,784035852,783997401,783910323,783841939,783769845,783724531,783651861,783560101,783509445,783438312,783389380,783319365,783261387,783205738,783143897,783086755,783002052,782933066,782832706,782791811,782730439,782659093,782602467,782508084,782485978,782370196,782320943,782259384}', '{S:job,T:job,jobs}');

insert into kg.meanings (name_id, embedding) values
    (1, '[0.49019608,0.6156863,0.13333334,0.9764706,0.043137256,0.972549,0.3254902,0.34509805]'),
    (2, '[0.30980393,0.84313726,0.17254902,0.023529412,0.7372549,1,0.4745098,0.44313726]'),
    (4, '[0.47843137,0.11764706,0.7882353,0.99607843,0.42352942,0.23137255,0.28235295,0.24705882]'),
    (5, '[0.18431373,0.09019608,0.627451,0.972549,0.8352941,0.09411765,0.89411765,0.5686275]');

insert into kg.mentions (name_id, source_id, label, type, description, search_terms, term_forms, rank) values
    (1, 1, 'Lanes', '', '', '{}', '{}', '\x01c2ef33e21c34ccab0d6e70f006c239'),
    (2, 1, 'Slots', '', '', '{}', '{}', '\x0118233590d9a0d39c75dbf663705ea3'),
    (2, 2, 'Slots', '', '', '{}', '{}', '\x0118233590d9a0d39c75dbf663705ea3'),
    (4, 2, 'Workers', '', '', '{}', '{}', '\x013f60e47fb7a93d80caf1e58e8a284e'),
    (4, 3, 'Workers', '', '', '{}', '{}', '\x013f60e47fb7a93d80caf1e58e8a284e'),
    (5, 3, 'Jobs', '', '', '{}', '{}', '\x0123db562cf11c8d11f0b3b83788557f');

insert into kg.labels (name_id, label, mentions) values
    (1, 'Lanes', 1),
    (2, 'Slots', 2),
    (4, 'Workers', 2),
    (5, 'Jobs', 1);

insert into kg.instances (name_id, source_id, start, finish, quote) values
    (1, 1, 0, 5, 'Lanes'),
    (2, 1, 11, 16, 'Slots'),
    (2, 2, 0, 5, 'Slots'),
    (4, 2, 15, 22, 'Workers'),
    (4, 3, 19, 26, 'Workers'),
    (5, 3, 32, 36, 'Jobs');

insert into kg.claims (source_id, from_name, to_name, type, tier, direction, confidence) values
    (1, 1, 2, 'USES', 'precise', 'forward', 1),
    (2, 2, 4, 'USES', 'precise', 'forward', 1),
    (3, 4, 5, 'USES', 'precise', 'forward', 1);

insert into kg.relations (id, ontology_id, from_id, to_id, type, tier, direction, confidence, evidence) overriding system value values
    (1, 1, 1, 2, 'USES', 'precise', 'forward', 0.999, 1),
    (2, 1, 2, 3, 'USES', 'precise', 'forward', 0.999, 1),
    (4, 1, 3, 2, 'USES', 'precise', 'forward', 0.999, 1);

insert into kg.decisions (id, ontology_id, one, other, decision, act, decided_by, decided_at) overriding system value values
    (1, 1, 'jobs', 'slots', 'same', 1, 'ada', now() - '1 h'::interval);

select setval('lanework.audit_log_id_seq', 6);
select setval('lanework.event_ids', 45);
select setval('lanework.fences', 10);
select setval('lanework.job_ids', 15);
select setval('lanework.job_types_id_seq', 11);
select setval('lanework.lanes_id_seq', 15);
select setval('lanework.letters', 2);
select setval('lanework.steps_seq_seq', 25);
select setval('lanework.workers_id_seq', 3);
select setval('kg.acts', 1);
select setval('kg.concepts_id_seq', 4);
select setval('kg.decisions_id_seq', 1);
select setval('kg.documents_id_seq', 5);
select setval('kg.names_id_seq', 6);
select setval('kg.ontologies_id_seq', 1);
select setval('kg.passages_id_seq', 3);
select setval('kg.relations_id_seq', 4);
select setval('kg.sources_id_seq', 3);

select setval('kg.users_id_seq', 1);
