select name, failed, pending, last_error from lanework.failing_notifiers()
