"""`lanework workers …`"""
