"""Case lines and masks, read a second time: written from the documented
grammar and the mathematics of the masks, not from the C++ side.

ParseCase(line) gives a Case; visibility(case, b, h, ...) the boolean matrix
[Sq, Skv] of one batch row and query head.
"""

import dataclasses
import math

import numpy as np

UNLIMITED = math.inf


class CaseError(Exception):
    pass


def require(condition, sentence):
    if not condition:
        raise CaseError(sentence)


@dataclasses.dataclass
class Case:
    b: int
    hq: int
    hkv: int
    sq: int
    skv: int
    d: int
    dv: int
    lane: str
    p: str
    order: str
    scale: float
    cap: float | None
    align: str
    masks: dict  # None: every head without one of its own; N: head N
    valid_q: list
    valid_kv: list
    q_seg: list | str | None  # per batch row an int array; "file"; or None
    kv_seg: list | str | None
    sink: bool
    kvlane: str | None   # fp8 of k and v
    qlane: str | None    # fp8 of q
    scales: dict         # "q", "k", "v": the layout as it stands in the line


# Keys that choose storage or the fill, and do not change what is right.
INERT_KEYS = {"layout", "strides", "page", "alias", "fill", "gen", "seed", "expect"}
KNOWN_KEYS = INERT_KEYS | {
    "b", "hq", "hkv", "sq", "skv", "d", "dv", "lane", "p", "order", "split",
    "scale", "cap",
    "mask", "align", "q_seg", "kv_seg", "valid_q", "valid_kv", "sinklogit",
    "kvlane", "qlane", "qscale", "kscale", "vscale"}


def number(text):
    return float.fromhex(text) if "0x" in text.lower() else float(text)


# --- Mask expressions: nested tuples ("and"|"or", left, right) or terms. ---


class MaskParser:
    """`&` binds tighter than `|`; brackets group."""

    def __init__(self, text, next_dense):
        self.text = text
        self.at = 0
        self.next_dense = next_dense  # number of the next stored mask

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def parse(self):
        tree = self.parse_or()
        require(self.at == len(self.text), f"mask: rest at {self.at}")
        return tree

    def parse_or(self):
        tree = self.parse_and()
        while self.peek() == "|":
            self.at += 1
            tree = ("or", tree, self.parse_and())
        return tree

    def parse_and(self):
        tree = self.parse_factor()
        while self.peek() == "&":
            self.at += 1
            tree = ("and", tree, self.parse_factor())
        return tree

    def parse_factor(self):
        if self.peek() == "(":
            self.at += 1
            tree = self.parse_or()
            require(self.peek() == ")", "mask: bracket not closed")
            self.at += 1
            return tree
        begin = self.at
        while self.peek() and self.peek() not in "&|()":
            self.at += 1
        return self.term(self.text[begin:self.at])

    def term(self, text):
        name, _, rest = text.partition(":")
        if name in ("full", "causal"):
            require(rest == "", f"{name} takes no value")
            return (name,)
        if name == "window":
            left, right = (UNLIMITED if n == "inf" else int(n)
                           for n in rest.split(","))
            return ("window", left, right)
        if name in ("chunked", "sink"):
            return (name, int(rest))
        if name == "prefix":
            return ("prefix", [int(n) for n in rest.split(",")])
        if name in ("dense", "random", "blocks", "index"):
            self.next_dense += 1
            return ("stored", self.next_dense - 1, name, rest)
        raise CaseError(f"mask: unknown term '{text}'")


def listed_mask(case, shape, tensors):
    """The mask that the tensor indices makes, of the shape [b, 1 or hq, sq, skv]."""
    require("indices" in tensors, "indices is missing")
    lists = tensors["indices"].bits.astype(np.int64)
    group = max(shape[1] // case.hkv, 1)
    seen = np.zeros(shape, bool)
    for b, h, i in np.ndindex(*shape[:3]):
        for key in lists[b, h // group, i]:
            if key == -1:
                break
            seen[b, h, i, key] = True
    return seen


def of_lists(case, kind, name, mask, tensors):
    """The stored mask, which has to be that of the lists if its term is `index`."""
    require(kind != "index" or np.array_equal(mask != 0, listed_mask(case, mask.shape, tensors)),
            f"{name} is not the mask of the lists")
    return mask


def stored_terms(tree):
    if tree[0] in ("and", "or"):
        return stored_terms(tree[1]) + stored_terms(tree[2])
    return [tree] if tree[0] == "stored" else []


# --- The tensors of a case. ---


def stored_masks(case, tensors):
    """Stored masks by number, and the shape each term promises."""
    stored = {}
    for tree in case.masks.values():
        for _, index, kind, rest in stored_terms(tree):
            name = f"dense_mask_{index}"
            require(name in tensors, f"{name} is missing")
            mask = tensors[name].bits
            if kind == "blocks" and ":file:" in rest:
                rows, cols = (int(n) for n in rest.split(":")[0].split("x"))
                require(
                    mask.ndim == 4 and mask.shape[2:] == (
                        -(-case.sq // rows), -(-case.skv // cols)),
                    f"{name}: shape {mask.shape}")
                grown = mask.repeat(rows, axis=2).repeat(cols, axis=3)
                mask = grown[..., :case.sq, :case.skv]
            require(
                mask.ndim == 4 and mask.shape[2:] == (case.sq, case.skv)
                and mask.shape[0] in (1, case.b)
                and mask.shape[1] in (1, case.hq) and mask.max(initial=0) <= 1,
                f"{name}: shape {mask.shape} or values")
            if kind == "blocks":
                rows, cols = (int(n) for n in rest.split(":")[0].split("x"))
                corner = mask[..., ::rows, ::cols]
                grown = corner.repeat(rows, axis=2).repeat(cols, axis=3)
                require(
                    np.array_equal(grown[..., :case.sq, :case.skv], mask),
                    f"{name} is not constant on its blocks")
            stored[index] = of_lists(case, kind, name, mask, tensors)
    return stored


def check_inputs(case, tensors):
    """The exported side inputs must say what the case line says."""
    shapes = {"q": (case.b, case.hq, case.sq, case.d),
              "k": (case.b, case.hkv, case.skv, case.d),
              "v": (case.b, case.hkv, case.skv, case.dv)}
    for name, shape in shapes.items():
        found = tensors[name].bits.shape
        require(found == shape, f"{name}: shape {found}")
        fp8 = case.qlane if name == "q" else case.kvlane
        lane = "F8_" + fp8.upper() if fp8 else case.lane.upper()
        require(tensors[name].dtype == lane,
                              f"{name}: type {tensors[name].dtype}")
        require((name + "_scale" in tensors) == (name in case.scales),
                              f"{name}_scale: in one of case and file only")
    for name in ("q_seg", "kv_seg"):
        require((name in tensors) == (case.q_seg is not None),
                              f"{name}: in one of case and file only")
    for name in ("q_seg", "kv_seg"):
        if getattr(case, name) == "file":
            setattr(case, name, list(tensors[name].values))
    if case.q_seg is not None:
        for b in range(case.b):
            same = case.q_seg[b][:, None] == case.kv_seg[b][None, :]
            ours = (tensors["q_seg"].values[b][:, None]
                    == tensors["kv_seg"].values[b][None, :])
            require(np.array_equal(same, ours),
                                  "segment ids differ from the case line")
    for name in ("valid_q", "valid_kv"):
        if name in tensors:
            require(
                tensors[name].values.tolist() == getattr(case, name),
                f"{name} differs from the case line")
    require(("sink" in tensors) == case.sink,
                          "sink: in one of case and file only")


# --- The case line. ---


def per_batch(text, b):
    counts = [int(n) for n in text.split(",")]
    counts = counts * b if len(counts) == 1 else counts
    require(len(counts) == b, f"{text}: {len(counts)} counts for b={b}")
    return counts


def segment_row(text, length):
    kind, _, rest = text.partition(":")
    ids = []
    for index, part in enumerate(rest.split(",")):
        if kind == "runs":
            ids += [index] * int(part)
        else:
            require(kind == "ids", f"segments: unknown form '{text}'")
            identity, _, count = part.partition("*")
            ids += [int(identity)] * int(count or "1")
    require(len(ids) == length, f"{text}: {len(ids)} ids for {length} tokens")
    return np.array(ids, dtype=np.int64)


def segments(text, b, length):
    """"file" stands for the ids that the captured file holds."""
    if text in ("none", "file"):
        return "file" if text == "file" else None
    rows = text[1:-1].split(";") if text.startswith("[") else [text] * b
    require(len(rows) == b, f"{text}: {len(rows)} rows for b={b}")
    return [segment_row(row, length) for row in rows]


def split_keys(line):
    words = line.split()
    require(words and words[0] == "attention_forward",
            "not an attention_forward case")
    keys = {}
    for word in words[1:]:
        key, equals, value = word.partition("=")
        require(equals and key not in keys, f"bad or doubled key '{word}'")
        require(key in KNOWN_KEYS or key.startswith("mask.h"),
                f"unknown key '{key}'")
        keys[key] = value
    return keys


def parse_masks(keys):
    """Stored masks are numbered in order of appearance over all masks."""
    masks, next_dense = {}, 0
    ordered = [(None, keys.get("mask", "full"))]
    ordered += sorted((int(k[len("mask.h"):]), v) for k, v in keys.items()
                      if k.startswith("mask.h"))
    for head, text in ordered:
        parser = MaskParser(text, next_dense)
        masks[head] = parser.parse()
        next_dense = parser.next_dense
    return masks


def fp8_lane(keys, key):
    word = keys.get(key, "none")
    require(word in ("none", "e4m3", "e5m2"), f"{key}={word}")
    return None if word == "none" else word


def spread_scales(text, scales, heads, length):
    """The scale of each [batch row, head, key or query], [b or 1, heads, length]."""
    kind, _, rest = text.partition(":")
    wanted = {"tensor": (1, 1), "head": (heads, 1), "token": (heads, length)}
    if kind == "block":
        size = int(rest.partition(":")[0])
        wanted["block"] = (heads, -(-length // size))
        scales = np.repeat(scales, size, axis=2)[:, :, :length] if \
            scales.shape[1:] == wanted["block"] else scales[..., :0]
    else:
        require(scales.shape[1:] == wanted[kind], f"{text}: shape {scales.shape}")
    require(scales.shape[2] in (1, length), f"{text}: shape {scales.shape}")
    return np.broadcast_to(scales, (scales.shape[0], heads, length))


def parse_case(line):
    keys = split_keys(line)
    require("sq" in keys and "skv" in keys and "d" in keys,
            "sq, skv and d are needed")
    b, hq = int(keys.get("b", 1)), int(keys.get("hq", 1))
    sq, skv, d = int(keys["sq"]), int(keys["skv"]), int(keys["d"])
    masks = parse_masks(keys)
    q_seg = segments(keys.get("q_seg", "none"), b, sq)
    kv_seg = segments(keys.get("kv_seg", "none"), b, skv)
    require((q_seg is None) == (kv_seg is None), "one of the segments only")
    require(all(h is None or h < hq for h in masks), "mask of no head")
    return Case(
        b=b, hq=hq, hkv=int(keys.get("hkv", hq)), sq=sq, skv=skv, d=d,
        dv=int(keys.get("dv", d)), lane=keys.get("lane", "f32"),
        p=keys.get("p", "f32"), order=keys.get("order", "chain"),
        scale=number(keys["scale"]) if "scale" in keys else d ** -0.5,
        cap=None if keys.get("cap", "none") == "none" else number(keys["cap"]),
        align=keys.get("align", "tl"), masks=masks,
        valid_q=per_batch(keys.get("valid_q", str(sq)), b),
        valid_kv=per_batch(keys.get("valid_kv", str(skv)), b),
        q_seg=q_seg, kv_seg=kv_seg,
        sink=keys.get("sinklogit", "none") != "none",
        kvlane=fp8_lane(keys, "kvlane"), qlane=fp8_lane(keys, "qlane"),
        scales={name: keys[name + "scale"] for name in "qkv"
                if keys.get(name + "scale", "none") != "none"})


# --- Visibility. ---


def offset_of(case, b):
    """Query i sits at position i + offset on the key axis."""
    if case.align == "tl":
        return 0
    if case.align == "br":
        return case.valid_kv[b] - case.valid_q[b]
    return int(case.align)


def index_in_run(ids):
    """For each key its distance from the start of its maximal run of ids."""
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    lengths = np.diff(np.r_[starts, len(ids)])
    return np.arange(len(ids)) - np.repeat(starts, lengths)


def evaluate(tree, case, b, h, stored):
    """Boolean [Sq, Skv] of one expression."""
    kind = tree[0]
    if kind in ("and", "or"):
        left = evaluate(tree[1], case, b, h, stored)
        right = evaluate(tree[2], case, b, h, stored)
        return left & right if kind == "and" else left | right
    position = np.arange(case.sq)[:, None] + offset_of(case, b)
    key = np.arange(case.skv)[None, :]
    back = position - key  # how far back the key is
    if kind == "full":
        return np.ones((case.sq, case.skv), dtype=bool)
    if kind == "causal":
        return back >= 0
    if kind == "window":
        return (back <= tree[1]) & (-back <= tree[2])
    if kind == "chunked":
        return (back >= 0) & (position // tree[1] == key // tree[1])
    if kind == "prefix":
        prefix = tree[1][b] if len(tree[1]) > 1 else tree[1][0]
        return (back >= 0) | (key < prefix)
    if kind == "sink":
        ids = case.kv_seg[b] if case.kv_seg else np.zeros(case.skv)
        first = index_in_run(np.asarray(ids)) < tree[1]
        return np.broadcast_to(first[None, :], (case.sq, case.skv))
    require(kind == "stored", f"mask: unknown node {kind}")
    mask = stored[tree[1]]
    return mask[b if mask.shape[0] > 1 else 0,
                h if mask.shape[1] > 1 else 0] != 0


def visibility(case, b, h, stored):
    """Final mask of one head: its expression and segments and valid counts."""
    tree = case.masks.get(h, case.masks[None])
    mask = evaluate(tree, case, b, h, stored).copy()
    if case.q_seg is not None:
        mask &= case.q_seg[b][:, None] == case.kv_seg[b][None, :]
    mask[case.valid_q[b]:] = False
    mask[:, case.valid_kv[b]:] = False
    return mask
