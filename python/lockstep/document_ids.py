"""Document ids as arrays: one number a token, equal numbers see each other."""
import numpy as np

from lockstep.errors import UsageError
from lockstep.frameworks import to_numpy


def rows_of(name, array):
    """i32 [b, s] of an array [s] or [b, s] of integers."""
    ids = np.asarray(to_numpy(array))
    if ids.dtype.kind not in "iu":
        raise UsageError(f"{name} has the type {ids.dtype}, want integers")
    if ids.ndim not in (1, 2) or ids.size == 0:
        raise UsageError(f"{name} has the shape {ids.shape}, want [s] or [b, s]")
    if ids.max() > 2**31 - 1 or ids.min() < -2**31:
        raise UsageError(f"{name} has ids that do not fit 32 bits")
    return np.atleast_2d(ids.astype(np.int32))


def _absent(q, kv):
    """Two ids that no token has."""
    known = set(np.unique(q).tolist()) | set(np.unique(kv).tolist())
    free = (n for n in range(-1, -2**31, -1) if n not in known)
    return next(free), next(free)


def _text(rows):
    """`ids:7*5,8*3` of a case line, in brackets where rows have their own."""
    texts = []
    for row in rows:
        ends = np.append(np.flatnonzero(row[1:] != row[:-1]) + 1, len(row))
        runs = zip(row[ends - 1].tolist(), np.diff(ends, prepend=0).tolist())
        texts.append("ids:" + ",".join(f"{id}*{count}" for id, count in runs))
    return texts[0] if len(set(texts)) == 1 else f"[{';'.join(texts)}]"


def _rows(q, kv, pad):
    """i32 [b, s] of both, padding under ids that match nothing."""
    q = rows_of("q_seg", q)
    kv = q if kv is None else rows_of("kv_seg", kv)
    if len(q) != len(kv):
        raise UsageError(f"q_seg has {len(q)} rows and kv_seg {len(kv)}")
    if pad is not None:
        no_query, no_key = _absent(q, kv)
        q, kv = np.where(q == pad, no_query, q), np.where(kv == pad, no_key, kv)
    return q, kv


def keys_by_row(q, kv=None, pad=None):
    """{"q_seg": text, "kv_seg": text} of each batch row; kv absent: that of q."""
    return [{"q_seg": _text(one[None]), "kv_seg": _text(other[None])}
            for one, other in zip(*_rows(q, kv, pad))]


def ids(q, kv=None, *, pad=None):
    """Words of a case line for document ids of one's own:
    f"attention_forward b=2 sq=10 skv=10 d=64 mask=causal {lockstep.ids(mine, pad=-1)}".

    q    integers [s] or [b, s], an id a token: equal ids see each other
    kv   those of the keys; absent: q's
    pad  the id of padding, which sees nothing and which nothing sees
    """
    q, kv = _rows(q, kv, pad)
    return f"q_seg={_text(q)} kv_seg={_text(kv)}"
