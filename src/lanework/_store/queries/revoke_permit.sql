select lanework.revoke_permit(%(token)s::uuid, %(by)s::text)
