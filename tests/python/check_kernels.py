"""Kernels in NumPy that know nothing of Lockstep, right ones and wrong ones, for check_test.py."""
import functools

import numpy as np

CAP = 50.0


def _attend(q, k, v, seen, *, cap=None, scale=None, heads=None, exp=np.exp, partly=False):
    """Attention of q [b, h, s, d]; `heads`: which key head each query head reads."""
    group = q.shape[1] // k.shape[1]
    heads = np.arange(q.shape[1]) // group if heads is None else heads(q.shape[1], k.shape[1])
    k, v = k[:, heads], v[:, heads]
    z = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1]**-0.5 if scale is None else scale)
    if cap:
        capped = np.float32(cap) * np.tanh(z / np.float32(cap))
        if partly:  # the first tile of keys is not capped in later tiles of rows
            late = (np.arange(z.shape[2])[:, None] >= 64) & (np.arange(z.shape[3]) < 64)
            capped = np.where(late, z, capped)
        z = capped
    with np.errstate(all="ignore"):
        z = np.where(seen, z, -np.inf)
        top = z.max(-1, keepdims=True)
        p = exp(z - np.where(np.isfinite(top), top, 0))
        total = p.sum(-1, keepdims=True)
        return ((p @ v) / np.where(total > 0, total, 1)).astype(q.dtype)


def _places(q, k, axis=2):
    return np.arange(q.shape[axis])[:, None], np.arange(k.shape[axis])[None, :]


def _windowed(q, k, v, window=128, **more):
    i, j = _places(q, k)
    return _attend(q, k, v, (j <= i) & (i - j < window), **{"cap": CAP, **more})


def right(q, k, v):
    return _windowed(q, k, v)


def window_off_by_one(q, k, v):
    return _windowed(q, k, v, window=129)


def cap_in_one_tile(q, k, v):
    return _windowed(q, k, v, partly=True)


def half_scale(q, k, v):
    return _windowed(q, k, v, scale=0.5 * q.shape[-1]**-0.5)


def exp2_alone(q, k, v):
    return _windowed(q, k, v, exp=np.exp2)


def groups_modulo(q, k, v):
    return _windowed(q, k, v, heads=lambda hq, hkv: np.arange(hq) % hkv)


def no_cap(q, k, v):
    return _windowed(q, k, v, cap=None)


def bottom_right(q, k, v):
    i, j = _places(q, k)
    return _attend(q, k, v, j <= i + k.shape[2] - q.shape[2])


def two_sided(q, k, v):
    i, j = _places(q, k)
    return _attend(q, k, v, (i - j <= 7) & (j - i <= 3))


def chunks(q, k, v):
    i, j = _places(q, k)
    return _attend(q, k, v, (j <= i) & (i // 16 == j // 16))


def biased(q, k, v):
    """Scores with a bias by position: nothing that a case line says."""
    i, j = _places(q, k)
    z = q @ k.swapaxes(-1, -2) * np.float32(q.shape[-1]**-0.5) - np.float32(0.1) * abs(i - j)
    p = np.exp(z - z.max(-1, keepdims=True))
    return (p @ v / p.sum(-1, keepdims=True)).astype(q.dtype)


# --- odd signatures


def told(*, query, key, value, is_causal=False, window_size=(-1, -1), softcap=0.0):
    """Keywords alone, [b, s, h, d], a window as FlashAttention has it, and o with its weights."""
    q, k, v = (x.swapaxes(1, 2) for x in (query, key, value))
    i, j = _places(q, k)
    i = i + k.shape[2] - q.shape[2]
    left, right_side = window_size
    right_side = 0 if is_causal else right_side
    seen = np.ones((q.shape[2], k.shape[2]), bool)
    seen &= i - j <= left if left >= 0 else True
    seen &= j - i <= right_side if right_side >= 0 else True
    return _attend(q, k, v, seen, cap=softcap).swapaxes(1, 2), seen


def int_window(q, k, v, sliding_window=None):
    """Its window counts the keys before the query's own."""
    i, j = _places(q, k)
    seen = (j <= i) & (i - j <= sliding_window) if sliding_window else j <= i
    return _attend(q, k, v, seen)


class Layer:
    """A module with its window in itself."""

    def __init__(self, window=40):
        self.window = window

    def forward(self, q, k, v):
        return _windowed(q, k, v, window=self.window, cap=None)


layer = Layer(24)
narrow = functools.partial(_windowed, window=16, cap=None)


def one_head(Q, K, V):
    """[s, d]."""
    z = Q @ K.T / np.float32(Q.shape[-1])**np.float32(0.5)
    p = np.exp(z - z.max(-1, keepdims=True))
    total = p.sum(-1, keepdims=True)
    return p @ V / total, z.max(-1) + np.log(total[:, 0])


def packed(qkv):
    return qkv


def needs(q, k, v, table):
    return q + table


def broken(q, k, v):
    raise ValueError("no such shape")
