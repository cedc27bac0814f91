"""`lanework dead …`"""
