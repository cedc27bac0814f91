select w.name, w.host, w.pid, u.used,
       case when u.source = 0 then u.jobs else array(
           select j.id from lanework.claims c cross join lateral unnest(c.job_ids) x
           cross join lateral (
               select j.id from lanework.jobs j join lanework.job_types t on t.id = j.type_id
               where j.id = x and j.status = 'running' and j.claim_id = c.claim_id and j.lane_id = u.source
                 and (p.name = any (t.permits) or regexp_replace(p.name, '@.*$', '@host') = any (t.permits)) offset 0) j
           where c.worker_id = u.worker_id order by 1) end,
       null::text, null::bigint, u.at, null::timestamptz
from lanework.permit_use u
join lanework.permits p on p.id = u.permit_id join lanework.workers w on w.id = u.worker_id
where p.name = %(name)s::text and u.used > 0
union all
select h.holder, '', 0, 1, case when h.job_id is null then '{}' else array[h.job_id] end, h.token::text, h.fence, h.granted_at, h.expires_at
from lanework.permit_holds h join lanework.permits p on p.id = h.permit_id
where p.name = %(name)s::text and h.expires_at > lanework.now()
order by 8, 1
