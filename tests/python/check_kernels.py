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


SIZES = {"window": 512}


def far_window(q, k, v):
    """Its window stands in no code."""
    return _windowed(q, k, v, window=SIZES["window"], cap=None)


def farther_window(q, k, v):
    """Past all that is asked."""
    return _windowed(q, k, v, window=6 * SIZES["window"] - 72, cap=None)


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


def packed_rows(q, k, v, segment_ids):
    i, j = _places(q, k)
    same = segment_ids[:, :, None] == segment_ids[:, None, :]
    return _attend(q, k, v, (j <= i) & same[:, None])


def packed_late(q, k, v, segment_ids):
    """The first query of a segment is one of the segment before."""
    before = np.concatenate([segment_ids[:, :1], segment_ids[:, :-1]], 1)
    i, j = _places(q, k)
    return _attend(q, k, v, (j <= i) & (before[:, :, None] == segment_ids[:, None, :])[:, None])


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


def picky(q, k, v):
    """Two head sizes, lengths by 32, as many queries as keys, no groups."""
    assert q.shape == k.shape == v.shape and q.shape[-1] in (32, 64) and q.shape[2] % 32 == 0
    return bottom_right(q, k, v)


def packed(qkv):
    return qkv


def needs(q, k, v, table):
    return q + table


def broken(q, k, v):
    raise ValueError("no such shape")


# --- scans


def _chunked(x, dt, A, B, C, *, state=None, ids=None, late=False, chunk=16):
    """SSD by chunks: x [b, t, h, p], dt [b, t, h], A [h], B and C [b, t, g, n]. `late`: the first
    token of a run still reads the state before it."""
    B, C = (np.repeat(y, x.shape[2] // y.shape[2], 2) for y in (B, C))
    ids = np.zeros(x.shape[:2], np.int32) if ids is None else ids
    h = np.zeros((*x.shape[:1], *x.shape[2:], B.shape[3]), np.float32) if state is None else state
    y, before = np.zeros_like(x), ids[:, 0]
    for start in range(0, x.shape[1], chunk):
        at = slice(start, start + chunk)
        own, a = ids[:, at], np.cumsum((dt[:, at] * A).swapaxes(1, 2), -1)
        gap = a[..., :, None] - a[..., None, :]
        same = np.tri(gap.shape[-1], dtype=bool) & (own[:, :, None] == own[:, None, :])[:, None]
        pairs = np.where(same, np.exp(np.where(same, gap, 0)), 0) * dt[:, at].swapaxes(1, 2)[:, :, None]
        scores = np.einsum("blhn,bmhn->bhlm", C[:, at], B[:, at]) * pairs
        y[:, at] = np.einsum("bhlm,bmhp->blhp", scores, x[:, at])
        reads = own == before[:, None]
        if late:
            reads[:, 1:] |= reads[:, :-1]
        y[:, at] += np.einsum("blhn,bhpn,bhl->blhp", C[:, at], h, np.exp(a) * reads[:, None])
        last = own[:, -1]
        left = np.exp(a[..., -1:] - a) * (own == last[:, None])[:, None]
        h = h * (np.exp(a[..., -1]) * (last == before)[:, None])[..., None, None] + np.einsum(
            "bhl,blh,blhp,blhn->bhpn", left, dt[:, at], x[:, at], B[:, at])
        before = last
    return y


def scan(x, dt, A, B, C, seq_idx=None):
    return _chunked(x, dt, A, B, C, ids=seq_idx)


def scan_late(x, dt, A, B, C, seq_idx=None):
    return _chunked(x, dt, A, B, C, ids=seq_idx, late=True)


def scan_from(x, dt, A, B, C, initial_states=None):
    return _chunked(x, dt, A, B, C, state=initial_states)


def scan_from_zero(x, dt, A, B, C, initial_states=None):
    return _chunked(x, dt, A, B, C)


def folded(X, A, B, C):
    """ssd_minimal's arguments: steps are in X and A already; y and the last state."""
    h = np.zeros((*X.shape[:1], *X.shape[2:], B.shape[3]), np.float32)
    y = np.zeros_like(X)
    for t in range(X.shape[1]):
        h = np.exp(A[:, t])[..., None, None] * h + X[:, t, :, :, None] * B[:, t, :, None, :]
        y[:, t] = (h * C[:, t, :, None, :]).sum(-1)
    return y, h


def softplus(x, dt, A, B, C):
    return _chunked(x, np.log1p(np.exp(dt)), A, B, C)
