select n.id, i.text, n.score, i.meta
from kg.near_items(%(collection)s, %(model)s, %(vector)s, %(limit)s) n
join kg.items i on i.collection = %(collection)s and i.id = n.id
order by n.score desc, n.id
