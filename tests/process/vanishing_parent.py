"""Run as a program by test_parent.py: starts a model process, tells its id, and waits."""

from __future__ import annotations

import queue
import sys
import threading

from logitscope.backends.client import ModelClient
from logitscope.backends.messages import Loaded, Reply

if __name__ == "__main__":
    replies: queue.Queue[Reply] = queue.Queue()
    client = ModelClient(replies.put)
    path, *ids = sys.argv[1:]
    client.load(path)
    while True:
        reply = replies.get(timeout=30)
        if isinstance(reply, Loaded) or "load" in path:
            break
    if ids:
        client.evaluate([int(i) for i in ids])
        replies.get(timeout=30)
    print(client.pid, flush=True)
    # Told to, end without closing the client; otherwise wait to be killed.
    if not sys.stdin.readline():
        threading.Event().wait()
