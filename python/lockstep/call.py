"""What a kernel is told of one call: numbers, tensors, the mask in every form."""
import math

import numpy as np

from lockstep.errors import Unsupported

_REALS = ("scale", "softcap", "norm_epsilon")


def _real(value):
    return float.fromhex(value) if isinstance(value, str) else value


class Call:
    """One call of a kernel.

    Every scalar and every tensor of docs/wire.md is an attribute: `call.scale`,
    `call.softcap` (None without one), `call.valid_kv`, `call.dt`. Scalars come
    first where both have the name; `call.inputs[...]` is always the tensor.

    causal       whether the mask is causal, and
    window       (left, right), None for no bound, or None without a window. A mask
                 that these two do not describe raises Unsupported: the case is skipped
    offset       of each batch row: query i stands at key i + offset; 0 is torch's
                 is_causal, skv - sq that of FlashAttention
    mask_dense   bool-like u8 [b or 1, hq or 1, sq, skv], wants "mask.dense"
    mask_bias    the lane, same shape, 0 or -inf, wants "mask.bias"
    segments     (q_seg i32 [b, sq], kv_seg i32 [b, skv]), wants "segments";
                 of a scan one array [b, t]
    k_pages, v_pages, page_table, kv_len, page_size, page_order
                 of a case with page=, wants "pages"; the kernel's arguments k and v are
                 the pools then. Of other cases the kernel has no attribute of these names
    varlen, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k
                 of a case with layout=varlen, wants "varlen"; q, k, v and o are then [tokens,
                 heads, channels], and lse is [hq, tokens]. The kernel must not touch tokens
                 from cu_seqlens_q[-1] on. Other cases have no attribute `varlen`
    kvlane, k_scale, v_scale, k_scale_keys, v_scale_keys
                 of a case with kvlane=, wants "kvlane"; k and v are float8_e4m3fn or
                 float8_e5m2 (of ml_dtypes, torch), or u8 in NumPy without ml_dtypes
    qlane, q_scale, q_scale_queries
                 of a case with qlane=, wants "qlane" beside "kvlane"; q is in fp8
    indices      i32 [b, hkv, sq, K], keys of each query, -1 behind the last, of a case with
                 mask=index:. With wants "indices" the mask has a term of kind "index" in
                 place of a dense one
    v_in_k       of a case with alias=: the number of first channels of k that are v; v is
                 then a view of k. 0 in other cases
    tables       {name: i32 or u8 tensor}, one dict a batch row, wants "tables:..."
    outputs      {name: (shape, dtype)} of what is to be returned
    receipt      a dict: what is put there goes into the judge's receipt
    """

    def __init__(self, message, inputs, outputs):
        self.message = message
        self.op = message["op"]
        self.case = message.get("case", "")
        self.scalars = message.get("scalars", {})
        self.masks = message.get("masks", [])
        variation = message.get("variation", {})
        self.threads = variation.get("threads")
        self.splits = variation.get("splits")
        self.inputs = inputs
        self.outputs = outputs
        self.receipt = {}

    def __getattr__(self, name):
        scalars = self.__dict__.get("scalars", {})
        if name in scalars:
            value = scalars[name]
            return _real(value) if name in _REALS else value
        inputs = self.__dict__.get("inputs", {})
        if name in inputs:
            return inputs[name]
        raise AttributeError(
            f"this call of {self.__dict__.get('op')} has no {name!r}; it has "
            + ", ".join([*scalars, *inputs]))

    def _simple(self):
        """(causal, left, right) of a mask that says no more than that."""
        if len(self.masks) != 1:
            raise Unsupported("masks that differ from head to head")
        causal, left, right = False, None, None
        terms = [self.masks[0]]
        while terms:
            node = terms.pop()
            if node["kind"] == "and":
                terms += node["terms"]
            elif node["kind"] == "causal":
                causal = True
            elif node["kind"] == "window":
                left, right = _least(left, node["left"]), _least(right, node["right"])
            elif node["kind"] != "full":
                raise Unsupported("masks of more than causal and window")
        return causal or (right is not None and right == 0), left, right

    @property
    def causal(self):
        return self._simple()[0]

    @property
    def window(self):
        causal, left, right = self._simple()
        bounded = left is not None or (right is not None and not (causal and right == 0))
        return (left, right) if bounded else None

    def _wanted(self, name):
        if name not in self.inputs:
            raise AttributeError(f'the kernel does not say wants=["{name}"]')
        return self.inputs[name]

    @property
    def v_in_k(self):
        return self.scalars.get("v_in_k", 0)

    @property
    def mask_dense(self):
        return self._wanted("mask.dense")

    @property
    def mask_bias(self):
        return self._wanted("mask.bias")

    @property
    def segments(self):
        if not self.op.startswith("attention_"):
            return self._wanted("segments")
        return self.inputs.get("q_seg"), self.inputs.get("kv_seg")

    @property
    def tables(self):
        rows = {}
        for name, tensor in self.inputs.items():
            if name.startswith("tables."):
                _, row, table = name.split(".", 2)
                rows.setdefault(int(row), {})[table] = tensor
        if not rows:
            self._wanted("tables:DIALECT:BQxBK")
        return [rows[row] for row in sorted(rows)]

    def visible(self, b, h, rows, keys):
        """Whether query `rows` of head `h` of batch row `b` see `keys`: integer
        arrays that broadcast -> bool, everything counted. NumPy only."""
        rows, keys = np.asarray(rows), np.asarray(keys)
        tensors = {name: np.asarray(x) for name, x in self.inputs.items()
                   if name not in ("q", "k", "v", "k_pages", "v_pages")}
        tree = self.masks[h if len(self.masks) > 1 else 0]
        seen = _visible(tree, b, h, rows, keys, self.scalars["offset"][b], tensors,
                        self.scalars["hq"])
        seen = seen & (rows < tensors["valid_q"][b]) & (keys < tensors["valid_kv"][b])
        if "q_seg" in tensors:
            seen = seen & (tensors["q_seg"][b, rows] == tensors["kv_seg"][b, keys])
        return seen


def _least(a, b):
    return b if a is None else a if b is None else min(a, b)


def features_of(call):
    """What an attention call asks for beyond plain attention, of
    lockstep.kernels.FEATURES."""
    has = set()
    terms = list(call.masks)
    if len(call.masks) > 1:
        has.add("masks")
    while terms:
        node = terms.pop()
        kind = node["kind"]
        if kind == "and":
            terms += node["terms"]
        elif kind in ("causal", "window"):
            has.add(kind)
        elif kind != "full":
            has.add("masks")
    numbers = call.scalars
    of = lambda feature, asked: has.add(feature) if asked else None
    of("softcap", numbers.get("softcap") is not None)
    of("segments", "q_seg" in call.inputs)
    of("sink", "sink" in call.inputs)
    of("groups", numbers["hq"] != numbers["hkv"])
    of("value_dim", numbers["dv"] != numbers["d"])
    of("offset", any(numbers["offset"]))
    of("scale", not math.isclose(_real(numbers["scale"]), numbers["d"] ** -0.5, rel_tol=1e-6))
    for valid, size in (("valid_q", "sq"), ("valid_kv", "skv")):
        # One count a batch row: a list is read faster than an array is compared.
        counts = np.asarray(call.inputs[valid]).tolist() if valid in call.inputs else []
        of("padding", any(count != numbers[size] for count in counts))
    return has


def refuse_others(call, features, outputs):
    """Raises Unsupported where a call asks for more than a kernel says that it does."""
    if features is None or outputs is None or not call.op.startswith("attention_"):
        return
    for feature in sorted(features_of(call) - set(features)):
        raise Unsupported(f"the kernel's features= has no {feature!r}")


# What the arrays themselves show.
_SHOWN = {"groups", "value_dim"}


def refuse_untold(call, name, features, arguments):
    """Raises Unsupported where a kernel without a parameter `call` would have to know what
    only `call` says. It computes one thing: plain attention, or what its features= name."""
    fixed = set(features or ()) - _SHOWN
    if call.op in ("attention_forward", "attention_backward"):
        has = (features_of(call) | ({"dlse"} & set(call.inputs))) - _SHOWN
    else:  # tensors that are no arguments, tiles of a plan, the base of a merge's lse
        has = set(call.inputs) - set(arguments) | {"bq", "bk"} & set(call.scalars)
        has |= {"base"} if str(call.scalars.get("base")) == "2" else set()
    told = (", ".join(sorted(words)) for words in (has - fixed, fixed - has))
    untold = " and ".join(word + text for word, text in zip(("", "no "), told) if text)
    if untold:
        raise Unsupported(f"{name} has no parameter `call`, so it is not told that the case has "
                          f"{untold}; want def {name}({', '.join(arguments)}, *, call)")


def _listed(lists, rows, keys):
    """Whether the lists [sq, K] of `rows` hold `keys`: integer arrays that broadcast."""
    rows, keys = np.broadcast_arrays(rows, keys)
    seen = np.zeros(rows.shape, bool)
    for row in np.unique(rows):
        at = rows == row
        seen[at] = np.isin(keys[at], lists[row])
    return seen


def _visible(node, b, h, rows, keys, offset, tensors, heads):
    kind = node["kind"]
    if kind in ("and", "or"):
        join = np.logical_and if kind == "and" else np.logical_or
        return join.reduce([_visible(term, b, h, rows, keys, offset, tensors, heads)
                            for term in node["terms"]])
    back = rows + offset - keys
    if kind == "causal":
        return back >= 0
    if kind == "window":
        left, right = node["left"], node["right"]
        return ((back <= left if left is not None else True)
                & (-back <= right if right is not None else True)
                & np.ones(back.shape, bool))
    if kind == "chunked":
        chunk = node["chunk"]
        return (back >= 0) & ((rows + offset) // chunk == keys // chunk)
    if kind == "prefix":
        return (back >= 0) | (keys < node["prefix"][b])
    if kind == "sink":
        return _place_in_run(tensors, b, keys) < node["tokens"] + 0 * back
    if kind == "dense":
        dense = tensors[node["tensor"]]
        return dense[b % dense.shape[0], h % dense.shape[1], rows, keys] != 0
    if kind == "index":
        lists = tensors[node["tensor"]]
        own = lists[b, h * lists.shape[1] // heads]
        return _listed(own, rows, keys)
    if kind == "blocks":
        dense, (queries, width) = tensors[node["tensor"]], node["block"]
        return dense[b % dense.shape[0], h % dense.shape[1], rows // queries,
                     keys // width] != 0
    return np.ones(back.shape, bool)


def _place_in_run(tensors, b, keys):
    """How many keys of the same run lie before each key."""
    if "kv_seg" not in tensors:
        return keys
    ids = tensors["kv_seg"][b]
    places = np.arange(len(ids))
    starts = np.maximum.accumulate(
        np.where(np.r_[True, ids[1:] != ids[:-1]], places, 0))
    return (places - starts)[keys]
