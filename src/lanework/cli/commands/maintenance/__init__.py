"""`lanework maintenance …`"""
