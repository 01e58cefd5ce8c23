#!/usr/bin/env python3
"""The kernel of attention_host.py, which takes masks as terms and wants
nothing made."""
from attention_host import HELLO, load, serve
import attention_host


def sees(node, at):
    """Whether key j is visible by one node of the tree; at: what it is asked."""
    back, j, ids = at["i"] + at["offset"] - at["j"], at["j"], at["ids"]
    kind = node["kind"]
    if kind == "and":
        return all(sees(term, at) for term in node["terms"])
    if kind == "or":
        return any(sees(term, at) for term in node["terms"])
    if kind == "full":
        return True
    if kind == "causal":
        return back >= 0
    if kind == "window":
        left, right = node["left"], node["right"]
        return (left is None or back <= left) and (right is None or -back <= right)
    if kind == "chunked":
        chunk = node["chunk"]
        return back >= 0 and (at["i"] + at["offset"]) // chunk == j // chunk
    if kind == "prefix":
        return back >= 0 or j < node["prefix"][at["b"]]
    if kind == "sink":
        first = j
        while first > 0 and ids[first - 1] == ids[j]:
            first -= 1
        return j - first < node["tokens"]
    assert kind in ("dense", "blocks"), kind
    return at["dense"](node["tensor"], *node.get("block", (1, 1)))


def visible(call, memory, b, h, i):
    scalars, inputs = call["scalars"], call["inputs"]
    get = lambda name, *at: load(memory, inputs[name], *at)
    if i >= get("valid_q", b):
        return []
    ids = [get("kv_seg", b, j) if "kv_seg" in inputs else 0
           for j in range(scalars["skv"])]
    mask = call["masks"][h % len(call["masks"])]
    keys = []
    for j in range(get("valid_kv", b)):
        if "q_seg" in inputs and get("q_seg", b, i) != ids[j]:
            continue
        dense = lambda name, rows, columns, j=j: get(name, *(
            n % extent for n, extent in zip((b, h, i // rows, j // columns),
                                            inputs[name]["shape"])))
        if sees(mask, {"b": b, "i": i, "j": j, "ids": ids, "dense": dense,
                       "offset": scalars["offset"][b]}):
            keys.append(j)
    return keys


if __name__ == "__main__":
    attention_host.visible = visible
    serve({**HELLO, "name": "python-terms", "wants": []})
