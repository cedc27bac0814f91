"""`lanework lanes …`"""
