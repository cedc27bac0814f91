select name, child_id, lane from lanework.submit_children(
    %(id)s::bigint, %(attempt)s::int, %(claim)s::uuid, %(names)s::text[], %(type)s::text, %(payloads)s::text[], %(version)s::int,
    %(priority)s::int, %(delay)s::float8, %(max_tries)s::int, %(session)s::text)
