-- Under the job's fence, in one statement: whether the job still holds, and the document if it is still this version.
with held as materialized (
    select count(*) = 1 as holds from lanework.held(array[%(job)s::bigint], array[%(attempt)s::int], array[%(claim)s::uuid])
), done as (
    update kg.documents d set processing_status = %(status)s, stage = %(stage)s, updated_at = now()
    from held h where h.holds and d.id = %(id)s and d.version = %(version)s returning d.id
)
select h.holds, (select d.id from done d) from held h
