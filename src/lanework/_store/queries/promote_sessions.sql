-- if this commit is lost, the sweep does it again: it need not wait for the disk
select set_config('synchronous_commit', 'off', true), lanework.promote_sessions(%(sessions)s::text[])
