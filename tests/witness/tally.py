"""Answers of a witness beside a kernel's: the condition for passing is stated, per element."""

import numpy as np

FLT_MAX = float(np.finfo(np.float32).max)
LARGEST = {"F32": FLT_MAX, "BF16": FLT_MAX, "F16": 65504.0}
CANONICAL_NAN = {"F32": 0x7FC00000, "BF16": 0x7FC0, "F16": 0x7E00}
SIGN_BIT = {"F32": 0x80000000, "BF16": 0x8000, "F16": 0x8000}


class Tally:
    def __init__(self):
        self.passed = self.failed = self.weak = 0
        self.worst = 0.0
        self.messages = []

    def element(self, where, x, bits, dtype, kind, exact, bound, scale):
        negative_zero = bits == SIGN_BIT[dtype]
        if kind == "n":
            ok = bits == CANONICAL_NAN[dtype]
        elif kind in "+-":
            ok = x == (np.inf if kind == "+" else -np.inf)
        elif kind == "?":
            ok = bits == CANONICAL_NAN[dtype] or abs(x) == np.inf
        elif kind == "0":
            ok = bits == 0
        else:
            ok = abs(x - exact) <= bound and not negative_zero
            overflow = abs(exact) + bound > LARGEST[dtype]
            ok = ok or (overflow and x == np.copysign(np.inf, exact))
            self.weak += not bound <= scale / 8.0
            if np.isfinite(x) and bound > 0.0:
                self.worst = max(self.worst, abs(x - exact) / bound)
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            if len(self.messages) < 8:
                self.messages.append(
                    f"{where}: got {x!r} (bits {bits:#x}), class '{kind}', "
                    f"exact {exact:.9g}, bound {bound:.3g}")


def compare_row(tally, row, where, o, lse, scale):
    """o: (values [Dv], bits [Dv], dtype); lse likewise, scalars."""
    classes, exact, bound, kind_lse, exact_lse, bound_lse = row
    for c in range(len(exact)):
        tally.element(f"o[{where},{c}]", float(o[0][c]), int(o[1][c]), o[2],
                      classes[c], exact[c], bound[c], scale[c])
    tally.element(f"lse[{where}]", float(lse[0]), int(lse[1]), lse[2],
                  kind_lse, exact_lse, bound_lse, 8.0)
