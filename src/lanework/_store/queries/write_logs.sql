select id from lanework.write_logs(
    %(ids)s::bigint[], %(attempts)s::int[], %(claims)s::uuid[],
    %(jobs)s::bigint[], %(job_attempts)s::int[], %(streams)s::text[], %(texts)s::text[]) as w(id)
