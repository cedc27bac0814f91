-- Any language, any client, any trigger: a job is one function call in your transaction.
begin;
drop table if exists documents;
create table documents (id int primary key, title text not null);
insert into documents values (1, 'Lanes');
select lanework.enqueue('index_document', '{"document": 1}', priority => 10, idempotency_key => 'index-1', tags => '{night}');
commit;

-- Nothing of this is kept, the job included.
begin;
insert into documents values (2, 'Never');
select lanework.enqueue('index_document', '{"document": 2}');
rollback;

-- The same key and body: the same job, not a second one.
select lanework.enqueue('index_document', '{"document": 1}', idempotency_key => 'index-1');
