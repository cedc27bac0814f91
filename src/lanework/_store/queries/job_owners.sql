with given as (
    select u.first, u.last from unnest(%(firsts)s::bigint[], %(lasts)s::bigint[]) u(first, last)
), found as (
    select distinct j.owner, j.id
    from given g
    cross join lateral (
        select a.id, a.owner from lanework.all_jobs a
        where a.id between g.first and g.last and a.owner = any (%(owners)s::text[]) offset 0) j
), numbered as (
    select f.owner, f.id, f.id - row_number() over (partition by f.owner order by f.id) as stretch from found f
)
select n.owner, min(n.id), max(n.id) from numbered n group by n.owner, n.stretch order by n.owner, min(n.id)
