-- One attempt more in its window; answers how many there were, and when the window ends.
insert into kg.attempts as a (key, count, since) values (%(key)s, 1, now())
on conflict (key) do update
set count = case when a.since < now() - make_interval(secs => %(window)s::float8) then 1 else a.count + 1 end,
    since = case when a.since < now() - make_interval(secs => %(window)s::float8) then now() else a.since end
returning a.count, extract(epoch from a.since + make_interval(secs => %(window)s::float8) - now())::float8
