"""`lanework jobs …`"""
