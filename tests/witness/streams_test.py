#!/usr/bin/env python3
"""Draws inputs a second time, from the words of docs/cases.md alone, and compares bits.

  streams_test.py LOCKSTEP

Each tensor that `export --minimal` writes for a line below is drawn here in NumPy:
streams, orders of elements, distributions, and which mark of a merge wins. Exit 0 only if
every tensor of every line has the same bits, and a wrong stream is seen.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import safetensors_file

SEED = 0x9e3779b97f4a7c15
MASK = np.uint64(0xFFFFFFFF)


def words(stream, count, seed=SEED, gen=1):
    """Philox4x32-10 (Salmon et al., SC11): four words of each element, [4, count]."""
    n = np.arange(count, dtype=np.uint64)
    x = [n & MASK, n >> np.uint64(32) | np.uint64(gen << 16),
         np.full(count, stream, np.uint64), np.zeros(count, np.uint64)]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * x[0], np.uint64(0xCD9E8D57) * x[2]
        x = [b >> np.uint64(32) ^ x[1] ^ np.uint64(key[0]), b & MASK,
             a >> np.uint64(32) ^ x[3] ^ np.uint64(key[1]), a & MASK]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(x)


def unit(w):
    return (w >> np.uint64(8)).astype(np.float64) * 2.0 ** -24


def normal(stream, shape, sigma=1.0):
    w = words(stream, int(np.prod(shape)))
    total = sum((x & np.uint64(0xFFFF)) + (x >> np.uint64(16)) for x in w).astype(np.float64)
    factor = np.float64(np.float32(sigma * np.sqrt(1.5) / 65536))
    return ((total - 262140) * factor).astype(np.float32).reshape(shape)


def uniform(stream, shape, low, high):
    # The product is exact: 24 bits times a short HI - LO.
    u = unit(words(stream, int(np.prod(shape)))[0])
    return (low + u * (high - low)).astype(np.float32).reshape(shape)


def integers(stream, shape, low, high):
    w = words(stream, int(np.prod(shape)))[0]
    steps = w * np.uint64(high - low + 1) >> np.uint64(32)
    return (low + steps.astype(np.float64)).astype(np.float32).reshape(shape)


def below(w, share):
    return w < np.uint64(int(share * 2 ** 32))


def lists(shape, keys):
    """Index lists [b, hkv, sq, K] of `index:K`."""
    count, entries = int(np.prod(shape[:3])), shape[3]
    length, entry = words(27, count), words(26, count * entries)
    made = np.full((count, entries), -1, np.int32)
    for n in range(count):
        own = int(length[1, n]) % entries if length[0, n] % 4 == 0 else entries
        for at in range(own):
            w = entry[:, n * entries + at]
            made[n, at] = (made[n, at - 1] if at and w[1] % 8 == 0
                           else int(w[0]) * keys >> 32)
    return made.reshape(shape)


def attention(_):
    return {"q": normal(0, (2, 4, 5, 6)), "k": uniform(1, (2, 2, 7, 6), -2, 3),
            "v": integers(2, (2, 2, 7, 6), -5, 5), "sink": normal(3, (4,), 0.5),
            "dense_mask_0": below(words(1 << 16, 2 * 4 * 5 * 7)[0], 0.3)
                            .reshape(2, 4, 5, 7).astype(np.uint8)}


def scales(_):
    return {"k_scale": uniform(24, (2, 2, 7), 0.25, 4), "v_scale": uniform(25, (1, 2, 1), 0.5, 2),
            "q_scale": uniform(26, (2, 4, 5), 0.25, 4), "indices": lists((2, 2, 5, 3), 7)}


def pages(got):
    k, table = normal(1, (2, 2, 7, 6)), got["page_table"].values
    pool = np.full(got["k_pages"].values.shape, np.nan, np.float32)
    for b, keys in enumerate((7, 3)):
        for j in range(keys):
            pool[table[b, j // 4], :, j % 4] = k[b, :, j]
    return {"q": normal(0, (2, 4, 5, 6)), "k_pages": pool}


def ragged(_):
    """Rows end to end, and three tokens of NaN."""
    def tokens(padded, counts):
        rows = [padded[b, :, :n].swapaxes(0, 1) for b, n in enumerate(counts)]
        return np.concatenate(rows + [np.full_like(rows[0][:1], np.nan)] * 3)
    return {"q": tokens(normal(0, (2, 4, 5, 6)), (5, 2)),
            "k": tokens(normal(1, (2, 2, 7, 6)), (7, 3)),
            "v": tokens(normal(2, (2, 2, 7, 6)), (7, 3)),
            "cu_seqlens_q": np.array([0, 5, 7], np.int32)}


def backward(_):
    return {"do": normal(4, (2, 4, 5, 6)), "dlse": normal(5, (2, 4, 5), 2.0)}


def merge(_):
    shape = (6, 2, 9)
    lse, marks = normal(1, shape, 2.0), words(2, 6 * 2 * 9)
    for n, value in enumerate((-np.inf, np.nan, np.inf)):
        lse[below(marks[n], (0.3, 0.2, 0.2)[n]).reshape(shape)] = value
    lse[:, below(words(3, 2 * 9)[0], 0.2).reshape(2, 9)] = -np.inf
    return {"lse_parts": lse}


def scan(_):
    """Drawn with heads, or groups, in front of the tokens, and ranks behind them."""
    def token(stream, *shape):
        return np.moveaxis(normal(stream, shape), 1, -2)
    def ranked(stream):
        return normal(stream, (2, 2, 9, 2, 8)).transpose(0, 2, 3, 1, 4)
    w, a = words(6, 2 * 4 * 9)[3], uniform(6, (2, 4, 9), -0.01, 0)
    reset = (w % np.uint64(96) == 0).reshape(a.shape)
    a[reset] = (-16 - unit(w) * 16).astype(np.float32).reshape(a.shape)[reset]
    near_one = {name: uniform(n, (4, 2, 6), 0.25, 1.75)
                for name, n in (("psi", 12), ("zeta", 13), ("phi", 14))}
    return {"q": ranked(0), "k": ranked(1), "v": token(2, 2, 4, 9, 6), "z": token(4, 2, 4, 9, 6),
            "dt": uniform(5, (2, 4, 9), 0.2, 0.5), "a": a, "tau": uniform(7, (2, 4, 9), -2, 2),
            "vartheta": token(8, 2, 4, 9, 2), "bq": normal(9, (4, 2, 8)),
            "bk": normal(10, (4, 2, 8)), "d": uniform(11, (4,), 0.25, 1.75), **near_one,
            "init_theta": uniform(16, (2, 4, 2), 0, 1), "init_h": normal(17, (2, 4, 6, 8)),
            "init_k": normal(18, (2, 2, 4, 8)), "init_v": normal(19, (2, 4, 6)),
            "dy": normal(20, (2, 4, 9, 1, 6)).transpose(0, 2, 3, 1, 4),
            "dcarry_h": normal(22, (2, 4, 6, 8)), "dcarry_k": normal(23, (2, 2, 4, 8)),
            "dcarry_v": normal(24, (2, 4, 6)), "dcarry_theta": normal(21, (2, 4, 2))}


FORWARD = "b=2 hq=4 hkv=2 sq=5 skv=7 d=6"
LINES = (
    (f"attention_forward {FORWARD} mask=random:0.3 sinklogit=normal:0.5 "
     "fill=k.uniform:-2,3+v.int:-5,5", attention),
    (f"attention_forward {FORWARD} mask=index:3 kvlane=e4m3 kscale=token:uniform:0.25,4 "
     "vscale=head:uniform:0.5,2 qlane=e4m3 qscale=token:uniform:0.25,4", scales),
    (f"attention_forward {FORWARD} page=4 valid_kv=7,3", pages),
    (f"attention_forward {FORWARD} layout=varlen valid_q=5,2 valid_kv=7,3", ragged),
    (f"attention_backward {FORWARD} dlse=normal:2", backward),
    ("attention_merge s=6 h=2 n=9 dv=4 empty=0.3 nan=0.2 posinf=0.2 blank=0.2", merge),
    ("mamba3_scan_backward b=2 t=9 n=8 p=6 h=4 g=2 variant=mimo r=2 gate=yes reduce=yes "
     "carry=yes dcarry=yes regime=resets", scan),
)


def same(got, wanted):
    return got.shape == wanted.shape and np.array_equal(got, wanted, equal_nan=wanted.dtype.kind == "f")


def main(lockstep):
    wrong = tensors = 0
    for line, draw in LINES:
        # A seed may be hexadecimal.
        line += f" seed={SEED:#x}"
        with tempfile.TemporaryDirectory() as name:
            subprocess.run([lockstep, "export", line, "--minimal", "--out", name + "/x"],
                           check=True, stdout=subprocess.DEVNULL)
            got, _ = safetensors_file.read(pathlib.Path(name) / "x" / "inputs.safetensors")
        for tensor, wanted in draw(got).items():
            tensors += 1
            if not same(got[tensor].values, wanted):
                wrong += 1
                print(f"FAIL  {tensor} of '{line}'")
    if same(normal(1, (9,)), normal(2, (9,))):
        wrong += 1
        print("FAIL  two streams are one")
    print(f"{tensors} tensors, {wrong} wrong")
    return 1 if wrong or tensors < 40 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
