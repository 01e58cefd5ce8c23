#!/usr/bin/env python3
"""clock_host.py SECONDS [CLOCK]: the kernel of attention_host.py, which says that each
call took so long. By the clock of a device, as it says unless there is another CLOCK,
what is measured of it does not depend on the machine. --slow: each call takes 5 ms more.
--stuck FILE: a call of five keys makes that file and never ends. --dies N: it ends in its
call N."""
import sys
import time

import attention_host as host

calls = 0


def answer(call, inside, outside):
    global calls
    calls += 1
    if "--dies" in sys.argv and calls == int(sys.argv[sys.argv.index("--dies") + 1]):
        sys.exit(1)
    if "--slow" in sys.argv:
        time.sleep(0.005)
    if "--stuck" in sys.argv and call["scalars"]["skv"] == 5:
        with open(sys.argv[sys.argv.index("--stuck") + 1], "w", encoding="utf-8"):
            time.sleep(600)
    done = host.attend(call, inside, outside)
    clock = sys.argv[2] if len(sys.argv) > 2 else "device"
    done["receipt"] = {"seconds": float(sys.argv[1]), "clock": clock,
                       "synchronised": clock == "device"}
    return done


if __name__ == "__main__":
    host.serve(answer=answer)
