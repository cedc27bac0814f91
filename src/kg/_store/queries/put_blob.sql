insert into kg.blobs (hash, data) values (%(hash)s, %(data)s) on conflict (hash) do update set used_at = now()
