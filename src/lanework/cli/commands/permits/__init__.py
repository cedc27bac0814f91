"""`lanework permits …`"""
