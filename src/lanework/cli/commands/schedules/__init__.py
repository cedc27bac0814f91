"""`lanework schedules …`"""
