#!/usr/bin/env python3
"""buggy_host.py BUG: the kernel of attention_host.py with one planted bug."""
import math
import sys

import attention_host as host
from attention_host import row, visible


def without(drop):
    """Keys that drop(keys, call, b, h, i) leaves."""
    return lambda call, memory, b, h, i: drop(visible(call, memory, b, h, i), call, i)


def changed(call, **scalars):
    return {**call, "scalars": {**call["scalars"], **scalars}}


def doubled(call, memory, b, h, i):
    o, lse = row(call, memory, b, h, i)
    return o, lse + math.log(2)


def other_row(call, memory, b, h, i):
    return row(call, memory, b, h, max(i - 1, 0))


def empty_is_mean(call, memory, b, h, i):
    o, lse = row(call, memory, b, h, i)
    return ([1.0] * len(o), lse) if lse == -math.inf else (o, lse)


BUGS = {
    "last_key_dropped": {"visible": without(lambda keys, call, i: keys[:-1] or keys)},
    "first_key_twice": {"visible": without(lambda keys, call, i: keys[:1] + keys)},
    "look_ahead": {"visible": without(
        lambda keys, call, i: keys + [keys[-1] + 1]
        if keys and keys[-1] + 1 < call["scalars"]["skv"] else keys)},
    "mask_ignored": {"visible": lambda call, memory, b, h, i: list(
        range(call["scalars"]["skv"]))},
    "no_scale": {"row": lambda call, *at: row(changed(call, scale="0x1p+0"), *at)},
    "no_cap": {"row": lambda call, *at: row(changed(call, softcap=None), *at)},
    "head_of_group_0": {"row": lambda call, memory, b, h, i: row(
        call, memory, b, 0, i)},
    "lse_doubled": {"row": doubled},
    "row_before": {"row": other_row},
    "empty_row_not_zero": {"row": empty_is_mean},
}

if __name__ == "__main__":
    for name, function in BUGS[sys.argv[1]].items():
        setattr(host, name, function)
    host.serve({**host.HELLO, "name": "python-" + sys.argv[1]})
