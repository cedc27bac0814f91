select j.id from lanework.all_jobs j
where j.owner = %(owner)s and j.id between %(first)s and %(last)s and (%(ids)s::bigint[] is null or j.id = any (%(ids)s::bigint[]))
limit 10000
