select item, error_class, error_code, error, traceback, at from lanework.item_errors where job_id = %(id)s::bigint order by item limit %(limit)s
