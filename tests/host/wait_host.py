#!/usr/bin/env python3
"""wait_host.py BEGUN GO [WORD]: the kernel of attention_host.py. Its first call of a
case with that word writes its process id to BEGUN and ends when there is GO."""
import os
import sys
import time

import attention_host as host


def answer(call, inside, outside):
    begun, go, *words = sys.argv[1:]
    if not all(word in call.get("case", "") for word in words):
        return host.attend(call, inside, outside)
    if not os.path.exists(begun):
        with open(begun + ".part", "w", encoding="utf-8") as file:
            file.write(str(os.getpid()))
        os.rename(begun + ".part", begun)
    while not os.path.exists(go):
        time.sleep(0.01)
    return host.attend(call, inside, outside)


if __name__ == "__main__":
    host.serve(answer=answer)
