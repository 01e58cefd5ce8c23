#!/usr/bin/env python3
"""tap_host.py FILE: a right host that writes all messages down, and has every
feature of docs/wire.md that a host may have."""
import json
import sys
import types

import attention_host as host

LOG = open(sys.argv[1], "a", encoding="utf-8")


def note(side, text):
    LOG.write(json.dumps({"side": side, "message": json.loads(text)}) + "\n")
    LOG.flush()


def loads(line):
    note("judge", line)
    return json.loads(line)


def dumps(reply):
    text = json.dumps(reply)
    note("host", text)
    return text


def answer(message, inside, outside):
    if message["type"] == "reset":
        return {"type": "done", "id": message["id"],
                "receipt": {"left": {"threads": 0, "children": 0}}}
    done = host.attend(message, inside, outside)
    done["receipt"] = {"backend": "tapped", "threads": 1, "seconds": 0.0,
                       "fp": {"rounding": "nearest", "ftz": False, "daz": False}}
    return done


if __name__ == "__main__":
    host.json = types.SimpleNamespace(loads=loads, dumps=dumps)
    host.serve({**host.HELLO, "name": "tapped", "version": "1", "commit": "abc",
                "features": ["reset"], "threads": [1]}, answer)
