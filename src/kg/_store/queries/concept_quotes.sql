select * from kg.quotes(%(id)s, %(limit)s)
