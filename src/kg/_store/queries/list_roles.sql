select r.name, r.description, r.built_in,
       array(select p.permission || ' ' || p.scope from kg.role_permissions p where p.role = r.name order by p.permission, p.scope)
from kg.roles r order by r.built_in desc, r.name
