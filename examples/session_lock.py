"""A chat session has one writer: a lock with a token, which any process can renew, and a fence for what is written."""

from lanework import Lanework
from lanework.errors import PermitBusy

with Lanework() as app:
    lock = app.permits.acquire("chat-7", ttl=30)
    try:
        app.permits.acquire("chat-7", ttl=30)
    except PermitBusy as error:
        print("409:", error)
    app.permits.renew(lock.token)  # while the answer streams
    app.permits.release(lock.token)

    with app.permit("chat-7", ttl=30, wait=0) as hold:
        print("the fence has risen:", hold.fence > lock.fence)
