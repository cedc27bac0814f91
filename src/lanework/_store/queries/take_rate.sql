select requests, tokens, wait_s from lanework.take_rate(
    %(name)s::text, %(requests)s::float8, %(tokens)s::float8, %(want_requests)s::float8, %(want_tokens)s::float8)
