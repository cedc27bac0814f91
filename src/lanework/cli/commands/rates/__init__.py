"""`lanework rates …`"""
