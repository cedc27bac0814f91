select kg.use_space(%(model)s, %(dimensions)s)
