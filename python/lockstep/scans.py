"""Scans that know nothing of lockstep: y = C h with h = exp(dt A) h + dt x B, by their own names.

`adapted` makes a kernel of ssd_scan of a plain function. The fact `layout` names the form of its A
(FORMS), `tells` what else it can be told, `returns` what it returns.
"""
import inspect

import numpy as np

from lockstep.errors import Unsupported, UsageError
from lockstep.frameworks import framework_of
from lockstep.strangers import bound, listed, parameters_of, tells_of

ROLES = {
    "x": ("x", "xs", "u", "v"), "dt": ("dt", "delta", "dts"), "a": ("a", "da", "log_a", "a_log_decay"),
    "b": ("b", "bs"), "c": ("c", "cs"),
    "carry": ("initial_states", "initial_state", "init_state", "h0", "state0"),
    "segments": ("seq_idx", "segment_ids", "segments", "seg_ids", "doc_ids"),
}
# heads: A [h], one number a head. tokens: A [b, t, h], the logarithm of the decay, beside dt.
# folded: the same, and x is multiplied by dt before.
FORMS = ("heads", "tokens", "folded")
# A of a head h is -2^-(58 + h mod 4): a step of a / A decays by exp(a), and dt itself by 1.
_FAR = 58


def role_of(name):
    return next((role for role, names in ROLES.items() if name.lower() in names), None)


def is_scan(function):
    """Whether the parameters are those of a scan."""
    roles = {role_of(name) for name in parameters_of(function)}
    return {"x", "a", "b", "c"} <= roles


class Scan:
    """A function of x, dt, A, B and C that is called by its own names."""

    def __init__(self, function, form, returns=("y",), grouped=True):
        if form not in FORMS:
            raise UsageError(f"layout {form!r} is unknown; of a scan it is " + ", ".join(FORMS))
        self.function, self.form, self.returns = bound(function), form, tuple(returns)
        self.grouped = grouped
        self.parameters = parameters_of(self.function)
        self.names = {}
        for name, p in self.parameters.items():
            role = role_of(name)
            if role in ("x", "dt", "a", "b", "c"):
                self.names.setdefault(role, name)
            elif role is None and p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
                raise UsageError(f"{getattr(function, '__name__', 'it')} also wants {name}, which check "
                                 "does not know; want a default, or a function that gives it")

    def __call__(self, x, dt, a, b, c, told=None):
        """x [b, t, h, p], dt and a [b, t, h], b and c [b, t, g, n] -> {name: array}."""
        if not self.grouped:
            b, c = b[:, :, 0], c[:, :, 0]
        told = dict(told or {})
        if self.form == "heads":
            return self._of_heads(x, dt, a, b, c, told)
        given = {"x": x, "dt": dt, "a": a, "b": b, "c": c}
        if self.form == "folded":
            given["x"] = x * dt[..., None]
        return self._call(given, told)

    def _of_heads(self, x, dt, a, b, c, told):
        """Each token as two: one that decays by exp(a) and brings nothing, and one that brings dt x B
        and whose own decay is exactly 1. Every number is exact, whatever A is. In every second shape
        the other comes first, with the next token's decay behind it: so a kernel shows where it is
        wrong by one token at the border of a run or chunk."""
        powers = 2.0**(_FAR + np.arange(x.shape[2]) % 4)
        like = lambda numbers: _as(numbers.astype(np.float32), x)
        steps = -a * like(powers)
        carried = any(role_of(name) == "carry" for name in told)
        first = not carried and (x.shape[1] + x.shape[3]) % 2 == 0
        later = _joined([steps[:, 1:], steps[:, :1] * 0], 1)
        turns = lambda brings, decays, behind: (_pairs(brings, behind) if first
                                                else _pairs(decays, brings))
        told = {name: _pairs(value, value) if role_of(name) == "segments" else value
                for name, value in told.items()}
        answer = self._call({"x": turns(x, x * 0, x * 0), "dt": turns(dt, steps, later), "a": like(-1 / powers),
                             "b": turns(b, b * 0, b * 0), "c": turns(c, c * 0, c * 0)}, told)
        return answer | {"y": answer["y"][:, 0 if first else 1::2]}

    def _call(self, given, told):
        words = {self.names[role]: value for role, value in given.items() if role in self.names} | told
        ahead = [words.pop(name) for name, p in self.parameters.items()
                 if p.kind is inspect.Parameter.POSITIONAL_ONLY and name in words]
        parts = listed(self.function(*ahead, **words))
        return {name: part for name, part in zip(self.returns, parts) if name != "-"}


def _as(numbers, like):
    """A NumPy array as the framework of another has it."""
    module = _module(like)
    return module.from_numpy(numbers) if hasattr(module, "from_numpy") else module.asarray(numbers)


def _module(array):
    framework = framework_of(array)
    if framework == "torch":
        import torch
        return torch
    if framework == "jax":
        import jax.numpy
        return jax.numpy
    return np


def _joined(parts, axis):
    module = _module(parts[0])
    return (module.cat if hasattr(module, "cat") else module.concatenate)(parts, axis)


def _pairs(first, second):
    """[b, t, ...] twice as [b, 2 t, ...], one from each in turn."""
    return _module(first).stack([first, second], 2).reshape(
        (first.shape[0], 2 * first.shape[1], *first.shape[2:]))


def adapted(function, facts):
    """A kernel of ssd_scan that asks a stranger as its facts say."""
    tells = tells_of(facts.tells, ROLES)
    scan = Scan(function, facts.layout, facts.returns or ("y",), "groups" in (facts.features or ()))

    def kernel(q, k, v, *, call):
        told = {}
        if call.runs != "rows":
            if "segments" not in tells or call.runs != "segments":
                raise Unsupported("it is not told of runs")
            told[tells["segments"][0]] = call.inputs["segments"]
        if call.carry_in:
            if "carry" not in tells or call.run_count != call.b:
                raise Unsupported("it takes no state for each run")
            name, form, _ = tells["carry"]
            told[name] = call.init_h if form != "np" else call.init_h.swapaxes(2, 3)
        if call.skip or call.gate:
            raise Unsupported("D and z")
        parts = scan(v, call.dt.swapaxes(1, 2), call.a.swapaxes(1, 2), k, q, told)
        if "carry_np" in parts:
            parts["carry_h"] = parts.pop("carry_np").swapaxes(2, 3)
        return tuple(parts[name] for name in call.outputs)

    kernel.__name__ = getattr(function, "__name__", type(function).__name__)
    return kernel


def recurrence(x, dt, a, b, c, state=None, segments=None):
    """y [b, t, h, p] and the last state [b, h, p, n], token by token in binary64."""
    heads = x.shape[2] // b.shape[2]
    b, c = np.repeat(b, heads, 2), np.repeat(c, heads, 2)
    h = np.zeros((x.shape[0], x.shape[2], x.shape[3], b.shape[3])) if state is None else state.copy()
    y = np.zeros(x.shape)
    for t in range(x.shape[1]):
        if segments is not None and t > 0:
            h[segments[:, t] != segments[:, t - 1]] = 0
        h = np.exp(a[:, t])[..., None, None] * h
        h = h + (dt[:, t, :, None] * x[:, t])[..., None] * b[:, t, :, None, :]
        y[:, t] = (h * c[:, t, :, None, :]).sum(-1)
    return y, h
