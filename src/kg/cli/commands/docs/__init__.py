"""`kg docs`"""
