select lanework.spend(%(id)s, %(key)s, cast(%(amount)s as numeric), %(currency)s, %(tokens)s, %(items)s)
