select c.worker_id, format('has ended and still has claim %%s', min(c.no))
from lanework.claims c left join lanework.workers w on w.id = c.worker_id
where w.id is null or w.state not in ('active', 'draining')
group by c.worker_id order by c.worker_id limit %(limit)s
