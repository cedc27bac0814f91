"""`kg ontologies`"""
