select g.fingerprint, g.type, g.error_class, g.error_code, g.message, g.count, g.first_seen, g.last_seen, g.sample, g.sample_error,
       (select r.error_class from lanework.error_rules r join lanework.job_types t on t.name = g.type
        where (r.type_id is null or r.type_id = t.id) and g.message like r.pattern
        order by r.type_id nulls last, length(r.pattern) desc limit 1)
from lanework.dead_groups g
where (%(fingerprint)s::text is null or g.fingerprint = %(fingerprint)s::text)
  and (%(types)s::text[] is null or g.type = any (%(types)s::text[]))
  and (%(error_class)s::text is null or g.error_class = %(error_class)s::text)
order by g.last_seen desc, g.fingerprint
limit %(limit)s::int
