"""The exact operators, on arrays of NumPy, torch, JAX, or anything with DLPack, on
the CPU. Results are arrays of the framework that q is of. What they compute, to the
last bit: docs/ops/, docs/numerics.md."""
import json

import numpy as np

from lockstep import _native
from lockstep.errors import UsageError
from lockstep.frameworks import LANES, dtype_of, framework_of, name_of, to_framework, to_numpy
from lockstep.document_ids import keys_by_row
from lockstep.tables import Tables


def _operands(arrays):
    """What the extension reads: NumPy has no bf16 of its own, u16 stands for it."""
    read = {}
    for name, array in arrays.items():
        if array is None:
            continue
        array = to_numpy(array)
        read[name] = array.view(np.uint16) if name_of(array.dtype) == "bf16" else array
    return read


def _lane(q, name="q"):
    lane = name_of(to_numpy(q).dtype)
    if lane not in LANES:
        raise UsageError(f"{name} has the type {to_numpy(q).dtype}, want float32, bfloat16 or "
                         "float16")
    return lane


def _shape(name, array, rank):
    shape = np.shape(array) if not hasattr(array, "shape") else tuple(array.shape)
    if len(shape) != rank:
        raise UsageError(f"{name} has {len(shape)} axes, want {rank}")
    return shape


def _make(shapes, lane):
    """Arrays for outputs: f32 where nothing else is said."""
    return {name: np.empty(shape, dtype_of(lane if name in ("o", "y") else "f32"))
            for name, shape in shapes.items()}


def _run(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        raise UsageError(str(error)) from None


def _line(op, keys):
    return " ".join([op, *(f"{key}={value}" for key, value in keys.items()
                           if value is not None)])


def _number(value):
    return None if value is None else float(value).hex()


def _counts(values):
    return None if values is None else ",".join(str(int(v)) for v in np.atleast_1d(values))


def _grad(grad, lane):
    """The type of gradients of inputs of the lane."""
    if grad not in (None, "f32", lane):
        raise UsageError(f"grad is {grad!r}, want 'f32' or {lane!r}, the type of q")
    return grad or lane


def _attention_line(q, k, v, *, scale, softcap, mask, align, valid_q, valid_kv, p, order,
                    split=1):
    """The case line of a call, and (b, hq, sq, d, hkv, skv, dv)."""
    b, hq, sq, d = _shape("q", q, 4)
    _, hkv, skv, _ = _shape("k", k, 4)
    dv = _shape("v", v, 4)[3]
    line = _line("attention_forward", {
        "b": b, "hq": hq, "hkv": hkv, "sq": sq, "skv": skv, "d": d, "dv": dv,
        "lane": _lane(q), "p": p, "order": None if order == "chain" else order,
        "split": None if split == 1 else split,
        "scale": _number(scale), "cap": _number(softcap), "mask": mask, "align": align,
        "valid_q": _counts(valid_q), "valid_kv": _counts(valid_kv)})
    return line, (b, hq, sq, d, hkv, skv, dv)


def attention_forward(q, k, v, *, scale=None, softcap=None, mask="full", align="tl",
                      dense_mask=None, q_segments=None, kv_segments=None, valid_q=None,
                      valid_kv=None, sink=None, p=None, order="chain", split=1,
                      threads=0):
    """Softcap attention: o [b, hq, sq, dv] in q's type, lse f32 [b, hq, sq].

    q [b, hq, sq, d], k [b, hkv, skv, d], v [b, hkv, skv, dv], all float32, all
    bfloat16 or all float16; hkv divides hq. scale is 1/sqrt(d) if not given.
    mask        text as in case lines: "causal&window:32,0"; align "tl", "br" or
                the position of query 0
    dense_mask  bool or u8 [b or 1, hq or 1, sq, skv], narrows the mask
    q_segments, kv_segments   i32 [b, sq], [b, skv]: equal ids see each other
    valid_q, valid_kv         a count, or one a batch row
    sink        f32 [hq], a learned logit per head; natural logarithm
    p           "f32", "bf16" or "f16", the type of the weights (f32)
    order       of the products: "chain", "amx", "ampere" or "hopper"
    split       parts of the keys that are summed apart (clause N22); 1: none
    Raises UsageError, one line, for what has no meaning.
    """
    line, (b, hq, sq, _, _, _, dv) = _attention_line(
        q, k, v, scale=scale, softcap=softcap, mask=mask, align=align, valid_q=valid_q,
        valid_kv=valid_kv, p=p, order=order, split=split)
    inputs = _operands({"q": q, "k": k, "v": v, "q_segments": q_segments,
                        "kv_segments": kv_segments, "sink": sink, "dense": dense_mask})
    outputs = _make({"o": (b, hq, sq, dv), "lse": (b, hq, sq)}, _lane(q))
    _run(_native.attention_forward, line, inputs, _operands(outputs), threads)
    framework = framework_of(q)
    return tuple(to_framework(outputs[name], framework) for name in ("o", "lse"))


def attention_backward(q, k, v, o, lse, do, *, dlse=None, grad=None, scale=None,
                       softcap=None, mask="full", align="tl", dense_mask=None,
                       q_segments=None, kv_segments=None, valid_q=None, valid_kv=None,
                       sink=None, p=None, threads=0):
    """The gradients of attention_forward: (dq, dk, dv, dsink), shaped as q, k, v and
    sink; dsink is None without a sink, and f32.

    q, k, v and all that follows grad: as they were given to attention_forward, whose
    answers are o and lse.
    do     the cotangent of o, its shape and type
    dlse   f32 [b, hq, sq], the cotangent of lse; absent: 0
    grad   "f32", or q's type, of dq, dk and dv; absent: q's
    Raises UsageError, one line, for what has no meaning.
    """
    line, (b, hq, sq, d, hkv, skv, dv) = _attention_line(
        q, k, v, scale=scale, softcap=softcap, mask=mask, align=align, valid_q=valid_q,
        valid_kv=valid_kv, p=p, order="chain")
    lane = _lane(q)
    grad = _grad(grad, lane)
    inputs = _operands({
        "q": q, "k": k, "v": v, "o": o, "lse": lse, "do": do, "dlse": dlse,
        "q_segments": q_segments, "kv_segments": kv_segments, "sink": sink,
        "dense": dense_mask})
    shapes = {"dq": (b, hq, sq, d), "dk": (b, hkv, skv, d), "dv": (b, hkv, skv, dv)}
    outputs = {name: np.empty(shape, dtype_of(grad))
               for name, shape in shapes.items()}
    if sink is not None:
        outputs["dsink"] = np.empty(hq, np.float32)
    _run(_native.attention_backward, line, inputs, _operands(outputs), threads,
         grad == "f32")
    framework = framework_of(q)
    return tuple(to_framework(outputs[name], framework) if name in outputs else None
                 for name in ("dq", "dk", "dv", "dsink"))


def attention_merge(o_parts, lse_parts, *, base="e", out=None, threads=0):
    """Attention over parts of the keys, put together: o [h, n, dv], lse f32 [h, n].

    o_parts    [s, h, n, dv], what attention gave for each of s parts, float32, bfloat16 or
               float16; n counts the queries of all batch rows
    lse_parts  f32 [s, h, n], the logarithm of each part's sum of weights; -inf: the part
               saw no key of the row, and its o is not read
    base       "e" or "2", of every lse
    out        "f32", "bf16" or "f16", the type of o; absent: that of o_parts
    Raises UsageError, one line, for what has no meaning.
    """
    s, h, n, dv = _shape("o_parts", o_parts, 4)
    lane = _lane(o_parts, "o_parts")
    line = _line("attention_merge", {"s": s, "h": h, "n": n, "dv": dv, "lane": lane,
                                     "out": out, "base": base})
    outputs = {"o": np.empty((h, n, dv), dtype_of(out or lane)),
               "lse": np.empty((h, n), np.float32)}
    inputs = _operands({"o_parts": o_parts, "lse_parts": lse_parts})
    _run(_native.attention_merge, line, inputs, _operands(outputs), threads)
    framework = framework_of(o_parts)
    return tuple(to_framework(outputs[name], framework) for name in ("o", "lse"))


_CARRY = ("theta", "h", "k", "v")


def _mamba3_line(op, arrays, *, variant, reduce, norm_epsilon, rotated, grad=None):
    """The case line of a call, its runs apart, and (b, t, r, h, n, p, s)."""
    b, t, r, g, n = _shape("q", arrays["q"], 5)
    h, channels = _shape("v", arrays["v"], 4)[2:]
    rates = arrays["vartheta"]
    s = 0 if rates is None else _shape("vartheta", rates, 4)[3]
    line = _line(op, {
        "b": b, "t": t, "h": h, "g": g, "r": r, "n": n, "p": channels, "s": s,
        "variant": variant, "lane": _lane(arrays["q"]), "rot": rotated,
        "bias": "no" if arrays["bq"] is None else "yes",
        "skip": "no" if arrays["d"] is None else "yes",
        "gate": "no" if arrays["z"] is None else "yes",
        "reduce": "yes" if reduce else "no", "norm": _number(norm_epsilon), "grad": grad})
    return line, (b, t, r, h, n, channels, s)


def _carry_shapes(runs, r, h, n, p, s):
    return [(runs, h, s), (runs, h, p, n), (runs, r, h, n), (runs, h, p)]


def _named_carry(prefix, carry):
    return {prefix + name: tensor for name, tensor in zip(_CARRY, carry or ())}


def _mamba3(step, arrays, carry, *, segments=None, cu_seqlens=None, reduce=False, threads=0,
            **words):
    line, (b, t, r, h, n, p, s) = _mamba3_line(
        "mamba3_step" if step else "mamba3_scan", arrays, reduce=reduce, **words)
    ends, runs = _runs(segments, cu_seqlens, b)
    inputs = _operands({**arrays, "segments": segments, **_named_carry("init_", carry)})
    carries = _carry_shapes(runs, r, h, n, p, s)
    outputs = _make({"y": (b, t, 1 if reduce else r, h, p), **_named_carry("carry_", carries)},
                    _lane(arrays["q"]))
    _run(_native.mamba3, line, inputs, _operands(outputs), ends, step, threads)
    framework = framework_of(arrays["q"])
    made = [to_framework(x, framework) for x in outputs.values()]
    return made[0], tuple(made[1:])


def _runs(segments, cu_seqlens, rows):
    """cu_seqlens as a list, empty without them, and how many runs there are: of
    segments, stretches of equal ids in each row."""
    if cu_seqlens is not None:
        ends = [int(n) for n in np.asarray(cu_seqlens)]
        return ends, len(ends) - 1
    if segments is None:
        return [], rows
    ids = to_numpy(segments)
    return [], rows + int((ids[:, 1:] != ids[:, :-1]).sum())


def mamba3_scan(q, k, v, *, a, dt, tau, vartheta=None, bq=None, bk=None, d=None, z=None,
                psi=None, zeta=None, phi=None, norm_weight=None, carry=None, segments=None,
                cu_seqlens=None, variant="siso", reduce=False, norm_epsilon=None,
                rotated="f32", threads=0):
    """The Mamba-3 scan: y [b, t, r, h, p] (one rank with reduce=True), and the carry
    (theta, h, k, v) that every run leaves, f32.

    q, k [b, t, r, g, n], v, z [b, t, h, p], tau [b, h, t], vartheta [b, t, h, s] in
    one type, float32, bfloat16 or float16; a, dt [b, h, t], bq, bk [h, r, n], d [h], psi,
    zeta, phi [h, r, p], norm_weight [h, p] f32. Runs are rows, stretches of equal
    segments i32 [b, t], or cu_seqlens [runs + 1] with b = 1.
    carry: (theta [run, h, s], h [run, h, p, n], k [run, r, h, n], v [run, h, p]).
    """
    return _mamba3(False, {
        "q": q, "k": k, "v": v, "a": a, "dt": dt, "tau": tau, "vartheta": vartheta,
        "bq": bq, "bk": bk, "d": d, "z": z, "psi": psi, "zeta": zeta, "phi": phi,
        "norm_weight": norm_weight}, carry, segments=segments, cu_seqlens=cu_seqlens,
        variant=variant, reduce=reduce, norm_epsilon=norm_epsilon, rotated=rotated,
        threads=threads)


# Of the gradients of a scan, those that are not f32.
_OF_TOKENS = ("q", "k", "v", "tau", "vartheta", "z")


def mamba3_scan_backward(q, k, v, dy, *, a, dt, tau, vartheta=None, bq=None, bk=None, d=None,
                         z=None, psi=None, zeta=None, phi=None, norm_weight=None, carry=None,
                         dcarry=None, grad=None, segments=None, cu_seqlens=None,
                         variant="siso", reduce=False, norm_epsilon=None, rotated="f32",
                         threads=0):
    """The gradients of mamba3_scan: {name: array} for each of its inputs that is there,
    under the argument's name and of its shape; "carry" is (theta, h, k, v).

    All but these as they were given to mamba3_scan:
    dy      the cotangent of y, its shape and type
    dcarry  those of the carry that every run leaves, f32, of theta per turn; absent: 0
    grad    "f32", or q's type, of the gradients of q, k, v, tau, vartheta and z;
            absent: q's. The others are f32
    Raises UsageError, one line, for what has no meaning.
    """
    arrays = {"q": q, "k": k, "v": v, "a": a, "dt": dt, "tau": tau, "vartheta": vartheta,
              "bq": bq, "bk": bk, "d": d, "z": z, "psi": psi, "zeta": zeta, "phi": phi,
              "norm_weight": norm_weight}
    grad = _grad(grad, _lane(q))
    line, (b, _, r, h, n, p, s) = _mamba3_line(
        "mamba3_scan_backward", arrays, variant=variant, reduce=reduce,
        norm_epsilon=norm_epsilon, rotated=rotated, grad=grad)
    ends, runs = _runs(segments, cu_seqlens, b)
    inputs = _operands({**arrays, "dy": dy, "segments": segments,
                        **_named_carry("init_", carry), **_named_carry("dcarry_", dcarry)})
    outputs = {name: np.empty(inputs[name].shape,
                              dtype_of(grad if name in _OF_TOKENS else "f32"))
               for name in arrays if name in inputs}
    carries = _make(_named_carry("init_", _carry_shapes(runs, r, h, n, p, s) if carry else ()),
                    "f32")
    made = {"d" + name: array for name, array in {**outputs, **carries}.items()}
    _run(_native.mamba3_backward, line, inputs, _operands(made), ends, threads)
    framework = framework_of(q)
    gradients = {name: to_framework(array, framework) for name, array in outputs.items()}
    if carry:
        gradients["carry"] = tuple(to_framework(x, framework) for x in carries.values())
    return gradients


def mamba3_step(q, k, v, *, carry, a, dt, tau, vartheta=None, bq=None, bk=None, d=None,
                z=None, psi=None, zeta=None, phi=None, norm_weight=None, variant="siso",
                reduce=False, norm_epsilon=None, rotated="f32", threads=0):
    """One token of every row, from carry to carry: mamba3_scan's tensors with t = 1. A
    chain of steps has the bits of one scan."""
    return _mamba3(True, {
        "q": q, "k": k, "v": v, "a": a, "dt": dt, "tau": tau, "vartheta": vartheta,
        "bq": bq, "bk": bk, "d": d, "z": z, "psi": psi, "zeta": zeta, "phi": phi,
        "norm_weight": norm_weight}, carry, variant=variant, reduce=reduce,
        norm_epsilon=norm_epsilon, rotated=rotated, threads=threads)


def ssd_scan(q, k, v, *, a, dt, d=None, z=None, carry=None, segments=None,
             cu_seqlens=None, threads=0):
    """Mamba-2's scan: y [b, t, h, p], and the state f32 [run, h, p, n] that every run
    leaves.

    q, k [b, t, g, n] (C and B), v, z [b, t, h, p] in one type, float32, bfloat16 or float16; a
    (dt A), dt [b, h, t] and d [h] f32. Runs as in mamba3_scan; carry: the state
    that each of them starts from.
    """
    b, t, g, n = _shape("q", q, 4)
    h, p = _shape("v", v, 4)[2:]
    lane = _lane(q)
    line = _line("ssd_scan", {
        "b": b, "t": t, "h": h, "g": g, "n": n, "p": p, "lane": lane,
        "skip": "no" if d is None else "yes", "gate": "no" if z is None else "yes"})
    ends, runs = _runs(segments, cu_seqlens, b)
    arrays = {"q": q, "k": k, "v": v, "a": a, "dt": dt, "d": d, "z": z,
              "init_h": carry, "segments": segments}
    outputs = _make({"y": (b, t, h, p), "carry_h": (runs, h, p, n)}, lane)
    _run(_native.ssd, line, _operands(arrays), _operands(outputs), ends, threads)
    framework = framework_of(q)
    return tuple(to_framework(x, framework) for x in outputs.values())


_TABLE_TYPES = {"BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "I16": np.int16,
                "I32": np.int32, "I64": np.int64}


def block_plan(mask, *, sq, skv, hq=1, bq=256, bk=256, dialect="shrunk", q_seg=None,
               kv_seg=None, pad=None, dtype=None, **keys):
    """The tables that a block-sparse kernel reads, {name: integer array}, as our
    planner makes them (docs/plans.md).

    mask as in case lines; dialect "shrunk", "splash", "flat_list" or "block_mask"
    q_seg, kv_seg  ids as in case lines ("runs:3,4"), or integers [s]; of integers
           [b, s] a list of b tables is returned. kv_seg absent: q_seg
    pad    of arrays, the id that sees nothing and that nothing sees
    dtype  of the tables of integers, such as "int32"; absent: the narrowest
    keys: any others of a block_plan case line, such as align="br", blocks="no",
    q_shards=2. What is returned has to_block_mask(), of dialect "block_mask", and
    to_mask_info(), of "splash".
    """
    if q_seg is None or isinstance(q_seg, str):
        if pad is not None:
            raise UsageError("pad= is of q_seg= as an array")
        several, rows = False, [{"q_seg": q_seg, "kv_seg": kv_seg or q_seg}]
    else:
        several, rows = np.ndim(q_seg) > 1, keys_by_row(q_seg, kv_seg, pad)
    made = []
    for ids in rows:
        line = _line("block_plan", {"hq": hq, "sq": sq, "skv": skv, "bq": bq, "bk": bk,
                                    "dialect": dialect, "mask": mask, **ids, **keys})
        tables = {name: array.astype(dtype) if dtype and array.dtype != bool else array
                  for name, array in _tables(line).items()}
        made.append(Tables(tables, line, (sq, skv), (bq, bk)))
    return made if several else made[0]


def _tables(line):
    """{name: array}, as the planner writes them."""
    file = _run(_native.block_plan, line)
    size = int.from_bytes(file[:8], "little")
    head = json.loads(file[8:8 + size])
    tables = {}
    for name, entry in head.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + at for at in entry["data_offsets"])
        tables[name] = np.frombuffer(file[begin:end], _TABLE_TYPES[entry["dtype"]]).reshape(
            entry["shape"])
    return tables
