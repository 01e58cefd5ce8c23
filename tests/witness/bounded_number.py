"""Numbers in float64 that carry a bound of what f32 arithmetic may be off by.

u = 2^-24.  A product costs u, a sum of n terms gamma_n times the sum of their
sizes, whatever its order, a function its largest error.
"""

import numpy as np

U = 2.0 ** -24
U_OF = {"f32": 0.0, "bf16": 2.0 ** -8, "f16": 2.0 ** -11}
SMALLEST = {"f32": 0.0, "bf16": 0.0, "f16": 2.0 ** -24}
ULP = 2.0 ** -23
TINY = 2.0 ** -120         # underflow of any step; far below every bound
EPS_TANH, EPS_EXP, EPS_SIGMOID = (k * ULP for k in (1.768, 1.024, 1.748))
EPS_TURN = 1.05 * ULP      # sine and cosine, absolute


def gamma(n):
    return n * U / (1.0 - n * U)


class Num:
    """Values in float64, and bounds of how far f32 may be off."""

    def __init__(self, v, e=None):
        self.v = np.asarray(v, np.float64)
        self.e = np.zeros(self.v.shape) if e is None else np.broadcast_to(
            np.asarray(e, np.float64), self.v.shape)

    def __getitem__(self, at):
        return Num(self.v[at], self.e[at])

    def __neg__(self):
        return Num(-self.v, self.e)

    def __add__(self, other):
        other = number(other)
        v, e = self.v + other.v, self.e + other.e
        return Num(v, e + U * (np.abs(v) + e) + TINY)

    def __sub__(self, other):
        return self + (-number(other))

    def __mul__(self, other):
        other = number(other)
        a, b = np.abs(self.v), np.abs(other.v)
        e = a * other.e + b * self.e + self.e * other.e
        return Num(self.v * other.v,
                   e + U * (a * b + e) + TINY)

    __rmul__, __radd__ = __mul__, __add__

    def rounded(self, lane):
        """To a narrower lane."""
        return Num(self.v, self.e + U_OF[lane] * (np.abs(self.v) + self.e)
                   + SMALLEST[lane])


def number(x):
    return x if isinstance(x, Num) else Num(x)


def total(form, n, *factors):
    """einsum of two or three factors; every sum meets at most n roundings."""
    values = [number(x) for x in factors]
    exact = np.einsum(form, *[x.v for x in values])
    largest = np.einsum(form, *[np.abs(x.v) + x.e for x in values])
    least = np.einsum(form, *[np.abs(x.v) for x in values])
    g = gamma(n + len(values))
    return Num(exact, (largest - least) + g * largest + TINY
               + 2.0 ** -45 * largest)


def sigmoid(x):
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1.0, e) / (1.0 + e)


def sigmoid_of(x):
    s = sigmoid(x.v)
    return Num(s, s * EPS_SIGMOID + np.minimum(0.25 * x.e, s * np.expm1(
        np.minimum(x.e, 50.0))) + TINY)
