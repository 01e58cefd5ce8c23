#!/usr/bin/env python3
"""clock_host.py SECONDS: the kernel of attention_host.py, which says that each call
took so long: what is measured of it does not depend on the machine."""
import sys

import attention_host as host


def answer(call, inside, outside):
    done = host.attend(call, inside, outside)
    done["receipt"] = {"seconds": float(sys.argv[1])}
    return done


if __name__ == "__main__":
    host.serve(answer=answer)
