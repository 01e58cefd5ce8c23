"""Wrong kernels that ordinary numbers do not show, in NumPy and f32, one row each.

Every row of `BUGS` is right on normal deviates of size one and wrong on a legal input:
sinks far above the scores, values beyond f16's range, many tiny weights, scores far
below or beyond the cap, ids that are no small integers, one key with all the weight.
`py:blind_kernels.py:NAME` is a candidate; `ok` and `grad_ok` are right.
"""
import numpy as np

import lockstep

F = np.float32
PROFILE = """base = cpu-f32
name = blind
"""
MOST_F16, LEAST_F16 = F(65504), F(2.0**-24)


def same(x, *_):
    return x


def attention(call, q, k, v, q_map=same, k_map=same, v_map=same, o_map=same, id_map=None,
              hides=None, score=None, weight=same, sum_weight=None, top_of=None, sink=None,
              lse_of=None):
    """Softcap attention with one step replaced."""
    q, k, v = q_map(q), k_map(k), v_map(v)
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, 1), np.repeat(v, group, 1)
    sees = np.broadcast_to(np.asarray(call.mask_dense) != 0, q.shape[:3] + k.shape[2:3])
    ids = "q_seg" in call.inputs and (id_map or hides)
    if ids:
        a, b = (np.asarray(call.inputs[n]).astype(np.int64) for n in ("q_seg", "kv_seg"))
        equal = (id_map(a)[:, :, None] == id_map(b)[:, None, :]) if id_map else True
        if hides:
            equal = equal & ~hides(a)[:, :, None]
        # Without documents the mask of these lines is causal or full.
        sees = (sees & equal[:, None]) if hides else np.broadcast_to(
            equal[:, None], sees.shape)
    dead = ~sees.any(axis=2)[..., None]
    k, v = np.where(dead, F(0), k), np.where(dead, F(0), v)
    with np.errstate(all="ignore"):
        s = F(call.scale) * (q @ k.swapaxes(2, 3))
        if call.softcap:
            cap = F(call.softcap)
            s = cap * (score or np.tanh)(s / cap)
        s = np.where(sees, s, -np.inf)
        given = call.sink[None, :, None, None] if "sink" in call.inputs else None
        z = sink(given) if sink and given is not None else given
        top = (top_of or (lambda x: x.max(3, keepdims=True, initial=-np.inf)))(s)
        if z is not None:
            top = np.maximum(top, z)
        top = np.where(top == -np.inf, F(0), top).astype(F)
        p = np.where(sees, weight(np.exp(s - top), s - top), F(0)).astype(F)
        total = (p if sum_weight is None else sum_weight(p)).sum(3, keepdims=True)
        if z is not None:
            total = total + np.exp(z - top)
        o = np.where(total > 0, p @ v / np.where(total > 0, total, F(1)), F(0))
        lse = (lse_of or (lambda m, l: m + np.log(l)))(top, total)
        lse = np.where(total > 0, lse, F(-np.inf))
        # A row that sees a NaN is NaN, as declared.
        bad = np.isnan(s).any(3) & sees.any(3)
        lse = np.where(bad, np.nan, lse[..., 0])
    return o_map(o).astype(F), lse.astype(F)


def clamp(most):
    return lambda x: np.clip(x, F(-most), F(most))


def flush(least):
    return lambda x: np.where(np.abs(x) < F(least), F(0), x)


def drop(least):
    return lambda p, _: np.where(p < F(least), F(0), p)


def tiles(s, width=64):
    for at in range(0, s.shape[3], width):
        yield at, s[..., at:at + width]


def tile_skipped(limit):
    """Tiles whose largest score is `limit` below the maximum so far are left out."""
    def weight(p, d):
        p = p.copy()
        for at, part in tiles(d):
            far = part.max(3, keepdims=True) < -limit
            p[..., at:at + 64] = np.where(far, F(0), p[..., at:at + 64])
        return p
    return weight


def tanh_rational(x):
    e = np.exp(F(2) * x)
    return (e - F(1)) / (e + F(1))


def tanh_series(limit):
    return lambda x: np.where(np.abs(x) < F(limit), x, np.tanh(x))


def tanh_ends(limit):
    return lambda x: np.where(np.abs(x) > F(limit), np.sign(x), np.tanh(x))


def odd_tiles_from_zero(s):
    """The maximum of every second tile starts at 0."""
    top = np.full(s.shape[:3] + (1,), -np.inf, F)
    for at, part in tiles(s):
        here = part.max(3, keepdims=True)
        top = np.maximum(top, np.maximum(here, F(0)) if at // 64 % 2 else here)
    return top


def of_largest(s):
    finite = np.where(np.isfinite(s), np.abs(s), F(0))
    return finite.max(3, keepdims=True)


BUGS = {
    # Sinks.
    "sink_clamped": dict(sink=clamp(100)),
    "sink_clamped_50": dict(sink=clamp(50)),
    "sink_infinite_is_zero": dict(sink=lambda z: np.where(z == -np.inf, F(0), z)),
    "sink_least_is_80_below": dict(sink=lambda z: np.maximum(z, F(-8))),
    "sink_overflows": dict(sink=lambda z: np.log(np.exp(z))),
    # Values and keys that f16 does not hold.
    "v_clamped_to_f16": dict(v_map=clamp(MOST_F16)),
    "k_clamped_to_f16": dict(k_map=clamp(MOST_F16)),
    "q_clamped_to_f16": dict(q_map=clamp(MOST_F16)),
    "o_clamped_to_f16": dict(o_map=clamp(MOST_F16)),
    "v_infinite_beyond_f16": dict(
        v_map=lambda v: np.where(np.abs(v) > MOST_F16, np.sign(v) * F(np.inf), v)),
    "v_flushed_below_f16": dict(v_map=flush(LEAST_F16)),
    "k_flushed_below_f16": dict(k_map=flush(LEAST_F16)),
    "q_flushed_below_f16": dict(q_map=flush(LEAST_F16)),
    "o_flushed_below_f16": dict(o_map=flush(LEAST_F16)),
    "v_clamped_to_2_16": dict(v_map=clamp(2.0**16)),
    "k_clamped_to_1000": dict(k_map=clamp(1000)),
    "q_clamped_to_1000": dict(q_map=clamp(1000)),
    "v_flushed_below_1e_6": dict(v_map=flush(1e-6)),
    # Tiny weights, many of them.
    "weights_below_f16_flushed": dict(weight=drop(2.0**-24)),
    "weights_skipped_below_1e_8": dict(weight=drop(1e-8)),
    "weights_missing_in_sum": dict(sum_weight=flush(1e-7)),
    "weights_at_least_e_18": dict(weight=lambda p, d: np.exp(np.maximum(d, F(-18)))),
    "tile_skipped_15_below": dict(weight=tile_skipped(15)),
    "tile_skipped_12_below": dict(weight=tile_skipped(12)),
    "exponent_ends_at_16": dict(weight=lambda p, d: np.where(d < F(-16), F(0), p)),
    # Scores under the cap, and far beyond it.
    "tanh_is_x_below_0_004": dict(score=tanh_series(0.004)),
    "tanh_ends_at_4": dict(score=tanh_ends(4)),
    "tanh_ends_at_5": dict(score=tanh_ends(5)),
    "tanh_overflows": dict(score=tanh_rational),
    "tanh_argument_clamped_3": dict(score=lambda x: np.tanh(np.clip(x, F(-3), F(3)))),
    "tanh_zero_when_tiny": dict(score=lambda x: np.where(np.abs(x) < F(1e-5), F(0), np.tanh(x))),
    "cap_wraps_beyond_8": dict(score=lambda x: np.where(np.abs(x) > F(8), -np.tanh(x), np.tanh(x))),
    # Whole tiles, or rows, below zero.
    "maximum_from_zero": dict(top_of=lambda s: np.maximum(s.max(3, keepdims=True), F(0))),
    "maximum_from_minus_100": dict(top_of=lambda s: np.maximum(s.max(3, keepdims=True), F(-100))),
    "odd_tiles_from_zero": dict(top_of=odd_tiles_from_zero),
    "maximum_of_sizes": dict(top_of=of_largest),
    "maximum_at_most_80": dict(top_of=lambda s: np.minimum(s.max(3, keepdims=True), F(80))),
    # Ids.
    "ids_in_f32": dict(id_map=lambda x: x.astype(F)),
    "ids_in_24_bits": dict(id_map=lambda x: x & 0xffffff),
    "ids_in_16_bits": dict(id_map=lambda x: x & 0xffff),
    "ids_without_sign": dict(id_map=np.abs),
    "ids_in_31_bits": dict(id_map=lambda x: (x & 0x7fffffff)),
    "ids_below_zero_hidden": dict(hides=lambda x: x < 0),
    "ids_largest_is_padding": dict(hides=lambda x: x == 2**31 - 1),
    "ids_halved": dict(id_map=lambda x: x >> 8),
    # lse.
    "lse_is_top_of_one_key": dict(lse_of=lambda m, l: np.where(l < F(1.001), m, m + np.log(l))),
    "lse_first_order": dict(lse_of=lambda m, l: np.where(l < F(1.01), m + (l - F(1)), m + np.log(l))),
    "lse_clamped": dict(lse_of=lambda m, l: np.clip(m + np.log(l), F(-60), F(60))),
    "lse_unshifted": dict(lse_of=lambda m, l: np.log(l * np.exp(m))),
}


def kernel(**kw):
    return lockstep.kernel(op="attention_forward", profile=PROFILE, wants=["mask.dense"],
                           lanes=["f32"], **kw)


def forward(name, steps):
    def run(q, k, v, *, call):
        return attention(call, q, k, v, **steps)
    run.__name__ = name
    globals()[name] = kernel()(run)


forward("ok", {})
for _name, _steps in BUGS.items():
    forward(_name, _steps)
