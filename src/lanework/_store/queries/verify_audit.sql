select sealed, unsealed, bad, head from lanework.verify_audit()
