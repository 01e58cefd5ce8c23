"""A flash attention kernel in Triton: softcap, causal masks and windows, documents, counts,
groups of heads, lse. BUGS are planted into it one at a time, to show what the judge says.
Without a GPU it runs under TRITON_INTERPRET=1."""
import torch
import triton
import triton.language as tl

import lockstep

ON_GPU = torch.cuda.is_available()
DEVICE = "cuda" if ON_GPU else "cpu"
if not ON_GPU:
    import triton_bf16
    triton_bf16.repair()
BF16 = """base = mma-bf16
name = triton-flash
shift = fma
masked_nan_safe = no
nan = unspecified
"""
F16 = BF16.replace("mma-bf16", "mma-f16").replace("-flash", "-flash-f16")
F32 = """base = cpu-f32
name = triton-flash-f32
exp_base = 2
shift = fma
masked_nan_safe = no
nan = unspecified
"""
BUGS = ("causal_plus_one", "window_plus_one", "head_modulo", "mask_before_cap",
        "not_rescaled", "lse_in_base_2", "tail_dropped")
LOG2E = tl.constexpr(1.4426950408889634)
PROFILES = {"bf16": BF16, "f16": F16, "f32": F32}
FAR = 1 << 29


@triton.jit
def _tanh(x):
    return 1 - 2 / (tl.exp(2 * x) + 1)


@triton.jit
def _flash(Q, K, V, O, Lse, QSeg, KvSeg, ValidQ, ValidKv, Offset, scale, cap,
           sqb, sqh, sqi, sqc, skb, skh, skj, skc, svb, svh, svj, svc,
           sq, skv, hq, hkv, d, dv, left, right, SEGMENTS: tl.constexpr,
           D: tl.constexpr, DV: tl.constexpr, M: tl.constexpr, N: tl.constexpr,
           BUG: tl.constexpr):
    b, h = tl.program_id(1) // hq, tl.program_id(1) % hq
    g = h % hkv if BUG == "head_modulo" else h // (hq // hkv)
    i = tl.program_id(0) * M + tl.arange(0, M)
    c, e = tl.arange(0, D), tl.arange(0, DV)
    q = tl.load(Q + b * sqb + h * sqh + i[:, None] * sqi + c[None, :] * sqc,
                (i[:, None] < sq) & (c[None, :] < d), 0)
    valid_q, valid_kv = tl.load(ValidQ + b), tl.load(ValidKv + b)
    place = i + tl.load(Offset + b)
    top = tl.full([M], float("-inf"), tl.float32)
    total = tl.zeros([M], tl.float32)
    acc = tl.zeros([M, DV], tl.float32)
    end = skv // N * N if BUG == "tail_dropped" else skv
    for start in range(0, end, N):
        j = start + tl.arange(0, N)
        k = tl.load(K + b * skb + g * skh + j[None, :] * skj + c[:, None] * skc,
                    (j[None, :] < skv) & (c[:, None] < d), 0)
        back = place[:, None] - j[None, :]
        reach = left + 1 if BUG == "window_plus_one" else left
        ahead = right + 1 if BUG == "causal_plus_one" else right
        seen = (back <= reach) & (-back <= ahead)
        seen = seen & (i[:, None] < valid_q) & (j[None, :] < valid_kv)
        if SEGMENTS:
            own = tl.load(QSeg + b * sq + i, i < sq, -1)
            seen = seen & (own[:, None] == tl.load(KvSeg + b * skv + j, j < skv, -2)[None, :])
        z = tl.dot(q, k, input_precision="ieee") * scale
        if BUG == "mask_before_cap":
            z = tl.where(seen, z, -1e30)
        if cap > 0:
            z = cap * _tanh(z / cap)
        if BUG != "mask_before_cap":
            z = tl.where(seen, z, float("-inf"))
        new = tl.maximum(top, tl.max(z, 1))
        safe = tl.where(new == float("-inf"), 0.0, new)
        p = tl.exp2(tl.fma(z, LOG2E, -safe[:, None] * LOG2E))
        fade = tl.exp2((top - safe) * LOG2E)
        total = total * fade + tl.sum(p, 1)
        if BUG != "not_rescaled":
            acc = acc * fade[:, None]
        v = tl.load(V + b * svb + g * svh + j[:, None] * svj + e[None, :] * svc,
                    (j[:, None] < skv) & (e[None, :] < dv), 0)
        acc = tl.dot(p.to(v.dtype), v, acc, input_precision="ieee")
        top = new
    empty = total == 0
    o = tl.where(empty[:, None], 0.0, acc / tl.where(empty, 1.0, total)[:, None])
    row = (b * hq + h) * sq + i
    tl.store(O + row[:, None] * dv + e[None, :], o.to(O.dtype.element_ty),
             (i[:, None] < sq) & (e[None, :] < dv))
    lse = tl.where(empty, float("-inf"), top + tl.log(tl.where(empty, 1.0, total)))
    tl.store(Lse + row, lse * LOG2E if BUG == "lse_in_base_2" else lse, i < sq)


def attend(q, k, v, call, bug=""):
    """o and lse of a call."""
    if "sink" in call.inputs:
        raise lockstep.Unsupported("sinks")
    left, right = call.window or (None, None)
    right = 0 if call.causal else right
    segments = "q_seg" in call.inputs
    seg = call.segments if segments else (call.valid_q, call.valid_kv)
    offset = torch.tensor(call.offset, dtype=torch.int32, device=q.device)
    o = torch.empty(call.b, call.hq, call.sq, call.dv, dtype=q.dtype, device=q.device)
    lse = torch.empty(call.b, call.hq, call.sq, device=q.device)
    wide = [max(16, triton.next_power_of_2(n)) for n in (call.d, call.dv)]
    m, n = (64, 64) if max(wide) <= 128 else (32, 32)
    _flash[triton.cdiv(call.sq, m), call.b * call.hq](
        q, k, v, o, lse, *(x.contiguous() for x in seg), call.valid_q, call.valid_kv, offset,
        call.scale, call.softcap or 0.0, *q.stride(), *k.stride(), *v.stride(),
        call.sq, call.skv, call.hq, call.hkv, call.d, call.dv,
        FAR if left is None else left, FAR if right is None else right, segments,
        *wide, m, n, bug)
    return o, lse


def declared(lane, bug=""):
    @lockstep.kernel(framework="torch", device=DEVICE, lanes=[lane], wants=["segments"],
                     profile=PROFILES[lane])
    def run(q, k, v, *, call):
        return attend(q, k, v, call, bug)
    run.__name__ = (bug or "right") + "_" + lane
    return run


for _lane in PROFILES:
    for _bug in ("", *BUGS):
        _kernel = declared(_lane, _bug)
        globals()[_kernel.__name__] = _kernel
