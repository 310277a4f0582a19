"""Calls in a thread of their own."""

import threading


def in_thread(work):
    """Return what a function returns in a thread of its own."""
    found = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()
    thread.join()
    return found[0]
