insert into kg.sources (document_id, hash, copy, ordinal, start, own, finish, text, version, extractor, dropped)
values (%(document)s, %(hash)s, %(copy)s, %(ordinal)s, %(start)s, %(own)s, %(finish)s, %(text)s, %(version)s, %(extractor)s, %(dropped)s)
on conflict (document_id, hash, copy) do update set version = excluded.version
returning id
