"""`lanework operations …`"""
