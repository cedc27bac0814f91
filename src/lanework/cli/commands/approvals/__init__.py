"""`lanework approvals …`"""
