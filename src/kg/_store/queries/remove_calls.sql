with gone as (delete from kg.model_calls where at < now() - make_interval(secs => %(days)s::float8 * 86400) returning 1)
select count(*) from gone
