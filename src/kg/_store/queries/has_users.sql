select exists (select from kg.users)
