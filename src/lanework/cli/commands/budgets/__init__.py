"""`lanework budgets …`"""
