select exists (select from lanework.jobs_done where id = %(job)s) or exists (select from lanework.jobs_failed where id = %(job)s)
