#!/usr/bin/env python3
"""starting_host.py MODE FILE: starts a process in its first call, writes its own
number and that one's into FILE, and never answers."""

import ctypes
import os
import signal
import sys
import time

import attention_host as host

PR_SET_PDEATHSIG = 1
MODE, FILE = sys.argv[1:]


def started():
    """The number of a process that does nothing. "session": leads one of its own;
    "orphan": besides, its parent has ended; "child": neither."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        if MODE != "child":
            os.setsid()
        if MODE != "orphan" or os.fork() == 0:
            os.write(writing, str(os.getpid()).encode())
            while True:
                signal.pause()
        os._exit(0)
    if MODE == "orphan":
        os.waitpid(child, 0)
    return int(os.read(reading, 20))


def answer(call, inside, outside):
    if MODE == "deaf":  # to the death of its parent
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)
    with open(FILE + ".part", "w", encoding="utf-8") as file:
        file.write(f"{os.getpid()} {started()}")
    os.rename(FILE + ".part", FILE)
    while True:
        time.sleep(600)


host.serve(host.HELLO, answer)
