"""Looks at a kernel that check was given, and asks what it computes.

    python3 -m lockstep.look FILE.py:FUNCTION OUT [KEY=VALUE]...

OUT gets one line of JSON for the program; KEY=VALUE are keys of a case line that --is states.
The kernel's module is imported here, and in hosts, and nowhere else.
"""
import contextlib
import dataclasses
import inspect
import json
import numbers
import os
import sys
import types

import numpy as np

from lockstep import measure, reading
from lockstep.errors import LockstepError, UsageError
from lockstep.frameworks import framework_of, name_of, to_framework, to_numpy
from lockstep.kernels import facts_of, load, quoted
from lockstep.measure import Asked, Shape, Unreadable
from lockstep.reading import ROOT, Reading
from lockstep.strangers import (LAYOUTS, OFFS, Stranger, listed, parameters_of, role_of,
                                window_value)

_SIZES = ((7, 16), (16, 16), (64, 64), (128, 64), (128, 128), (256, 128))
_TOLD = ("causal", "window", "softcap", "scale")
_LONGEST = 2112  # keys of a question


@dataclasses.dataclass
class Opened:
    """A stranger that has answered, and what it takes."""
    stranger: Stranger
    framework: str
    lanes: list
    wide: bool  # o in f32 where the tensors have 16 bits
    size: tuple  # (queries and keys, channels) that it took
    returned: list  # (shape, type) of what it returned
    base: dict  # values of parameters that have to be given

    def asked(self, lane=None):
        return Asked(self.stranger, self.framework, lane or self.lanes[0])


def frameworks_of(function):
    """The frameworks in the order of trying: those that the function's module names first."""
    module = sys.modules.get(getattr(function, "__module__", "") or type(function).__module__)
    named = set()
    for value in list(vars(module).values()) if module else []:
        name = value.__name__ if isinstance(value, types.ModuleType) else getattr(
            value, "__module__", None)
        named.add(str(name).split(".", maxsplit=1)[0])
    named |= {"torch"} if "triton" in named else set()
    order = [name for name in ("torch", "jax", "numpy") if name in named]
    return order or ["numpy"] + [name for name in ("torch", "jax") if name in sys.modules]


def constants_of(function):
    """The numbers in a function's code, its defaults, what it closes over, and in functions of its
    module that it calls."""
    found, todo, seen = set(), [function], set()
    while todo:
        one = todo.pop()
        if isinstance(one, numbers.Real) and not isinstance(one, bool):
            found.add(float(one))
        elif isinstance(one, types.CodeType):
            todo += one.co_consts
        elif isinstance(one, (tuple, list)):
            todo += one
        elif id(one) not in seen and len(seen) < 200:
            seen.add(id(one))
            todo += _inside(one)
    return found


def _inside(one):
    one = getattr(one, "func", one)  # of a partial
    inside = []
    if inspect.ismethod(one) or hasattr(one, "forward"):
        owner = getattr(one, "__self__", one)
        inside += [x for x in vars(owner).values() if isinstance(x, numbers.Real)] if hasattr(
            owner, "__dict__") else []
    plain = getattr(one, "__func__", getattr(type(one), "forward", one))
    code = getattr(plain, "__code__", None)
    if code is None:
        return inside
    inside += [code, *(plain.__defaults__ or ()), *(plain.__kwdefaults__ or {}).values()]
    inside += [cell.cell_contents for cell in plain.__closure__ or () if cell.cell_contents is not plain]
    for name in code.co_names:
        value = plain.__globals__.get(name)
        if isinstance(value, numbers.Real) or isinstance(value, types.FunctionType) and \
                value.__module__ == plain.__module__:
            inside.append(value)
    return inside


def opened(function):
    """Calls the function until it answers. Raises UsageError where it does not."""
    why = None
    for framework in frameworks_of(function):
        for layout in LAYOUTS:
            stranger = Stranger(function, layout)
            base = {n: OFFS["none"] for n, p in stranger.parameters.items()
                    if p.default is p.empty and role_of(n) in ("window", "softcap")}
            base |= {n: False for n, p in stranger.parameters.items()
                     if p.default is p.empty and role_of(n) == "causal"}
            for size in _SIZES:
                try:
                    return _answering(stranger, framework, size, base)
                except Exception as error:  # pylint: disable=broad-except
                    why = why or f"{framework}, [b, h, s, d]: {type(error).__name__}: {error}"
    raise UsageError("it answered no call of check; the first said " + " ".join(why.split())[:400])


def _answering(stranger, framework, size, base):
    lanes, wide, returned, why = [], False, [], None
    for lane in ("f32",) if framework == "numpy" else ("f32", "bf16", "f16"):
        try:
            stranger.returns = ("o",)
            told = base | _scale_told(stranger, size[1])
            shapes, kind = _tried(stranger, framework, lane, size, told)
        except Exception as error:  # pylint: disable=broad-except
            why = why or error
            continue
        if kind not in (lane, "f32", "f64"):
            continue
        lanes.append(lane)
        wide = wide or kind == "f32" != lane
        returned = returned or shapes
    if not lanes:
        raise why or UsageError("its first result is no array of its arguments' type")
    return Opened(stranger, framework, lanes, wide, size, returned, base)


def _scale_told(stranger, d):
    """A scale that has to be given, or whose default is a number."""
    return {n: d**-0.5 for n, p in stranger.parameters.items()
            if role_of(n) == "scale" and p.default not in (None, 0)}


def _tried(stranger, framework, lane, size, told):
    """(shape, type) of each array that a call returns, and the lane of the first."""
    asked = Asked(stranger, framework, lane)
    drawn = np.random.default_rng(0)
    s, d = size
    q, k, v = (to_framework(asked.narrow(drawn.standard_normal((2, 2, s, d))), framework)
               for _ in range(3))
    seen, plain = [], stranger.function

    def spied(*words, **named):
        answer = plain(*words, **named)
        seen.append(listed(answer))
        return answer

    stranger.function = spied
    try:
        o = stranger(q, k, v, told)["o"]
    finally:
        stranger.function = plain
    if tuple(o.shape) != (2, 2, s, d):
        raise UsageError(f"its first result has the shape {list(o.shape)}, want that of q")
    kind = "f64" if str(o.dtype).endswith("float64") else name_of(to_numpy(o).dtype)
    if not np.isfinite(to_numpy(o).astype(np.float64)).any():
        raise UsageError("its first result has no finite number")
    return [(tuple(getattr(x, "shape", ())), getattr(x, "dtype", "")) for x in seen[0]], kind


def right_layout(found):
    """Whether heads are where its layout says: values of one head reach only that head."""
    s, d = found.size
    asked, drawn = found.asked(), np.random.default_rng(2)
    told = found.base | _scale_told(found.stranger, d)
    q, k, v = (drawn.standard_normal((1, 2, s, d)) for _ in range(3))
    before = asked(q, k, v, told)["o"]
    v[:, 0] += 1
    moved = np.nan_to_num(np.abs(asked(q, k, v, told)["o"] - before)).max(axis=(0, 3))
    return moved[0].max() > 0 and moved[1].max() == 0


class Look:
    """One kernel, what it takes and what it computes."""

    def __init__(self, function, words):
        self.function, self.stated = function, reading.stated(words) if words else None
        self.found = opened(function)
        self._choose_layout()
        self.lane = self.found.lanes[0]
        self.constants = constants_of(self.found.stranger.function)
        self.unseen, self.tells, self.trouble = [], {}, ""
        self.lse, self.beside, self.longest, self._other_factor = None, "", 0, None
        self.fields, self.yours = ["repeat = no", "masked_nan_safe = no", "nan = unspecified",
                                   "empty_row = unspecified"], []
        self._find_limits()
        self._find_tells()

    def _choose_layout(self):
        first = self.found
        turned = {"bhsd": "bshd", "hsd": "shd"}.get(first.stranger.layout)
        if turned is None or right_layout(first):
            return
        try:
            other = _answering(Stranger(self.function, turned), first.framework, first.size, first.base)
            self.found = other if right_layout(other) else first
        except Exception:  # pylint: disable=broad-except
            self.found = first

    def _answers(self, **sizes):
        s, d = self.found.size
        shape = Shape(**({"hq": 1, "hkv": 1, "sq": s, "skv": s, "d": d, "dv": d} | sizes))
        drawn = np.random.default_rng(3)
        try:
            o = self.found.asked()(
                drawn.standard_normal((1, shape.hq, shape.sq, shape.d)),
                drawn.standard_normal((1, shape.hkv, shape.skv, shape.d)),
                drawn.standard_normal((1, shape.hkv, shape.skv, shape.dv)),
                self._told(shape.d))["o"]
            return o.shape == (1, shape.hq, shape.sq, shape.dv)
        except Exception:  # pylint: disable=broad-except
            return False

    def _find_limits(self):
        s, d = self.found.size
        self.groups = self._answers(hq=4, hkv=2)
        self.wider = self._answers(sq=s, skv=2 * s)
        self.taller = self._answers(sq=2 * s, skv=s)
        self.values = self._answers(dv=d // 2) if d > 16 else self._answers(dv=2 * d)
        self.channels = [n for n in (8, 16, 32, 64, 80, 128, 256) if n == d or self._answers(d=n, dv=n)]
        self.lengths = [n for n in (1, 2, 7, 37, 64, 96, 128, 256)
                        if n == s or self._answers(sq=n, skv=n)]
        self.any_length = all(n in self.lengths for n in (1, 2, 7, 37))

    def _told(self, d, **more):
        return self.found.base | _scale_told(self.found.stranger, d) | {
            name: OFFS[off] for name, _, off in self.tells.values() if off} | more

    # --- what it can be told

    def _find_tells(self):
        names = {role_of(n): (n, p) for n, p in self.found.stranger.parameters.items()}
        for role in _TOLD:
            if role not in names:
                continue
            name, p = names[role]
            if role == "causal":
                self.tells[role] = (name, "", "")
            elif role == "scale":
                root = p.default in (None, 0)
                self.tells[role] = (name, "" if root else "always", "")
            elif not self._tell(role, name, p):
                self.unseen.append(f"{name}= other than {p.default}")

    def _tell(self, role, name, p):
        """Learns how a window or a cap is told, and how it is turned off."""
        off = "" if p.default in (None, 0, -1, (-1, -1), False) else next(
            (word for word, value in OFFS.items() if self._turns_off(role, name, value)), None)
        if p.default is p.empty:
            off = "none"
        if off is None:
            return False
        if role == "softcap":
            self.tells[role] = (name, "", off)
            return True
        for form in ("pair",) if isinstance(p.default, tuple) else ("keys", "pair"):
            causal = {self.tells["causal"][0]: True} if "causal" in self.tells else {}
            try:
                value = window_value(form, 4, 0, True)
                n = next(n for n in self.lengths if n > 6)
                mask = self._mask(n, self._told(self.found.size[1], **causal, **{name: value}))
            except Exception:  # pylint: disable=broad-except
                continue
            if mask.left in (4, 5) and (form == "keys" or mask.left == 4):
                told = "before" if form == "keys" and mask.left == 5 and not self._means_keys() else form
                self.tells[role] = (name, told, off)
                return True
        return False

    def _means_keys(self):
        """Whether --is says how many keys a window has: then the kernel has to mean the same."""
        mask = self.stated.mask if self.stated else None
        return mask is not None and mask.left is not None

    def _turns_off(self, role, name, value):
        d = self.found.size[1]
        n = max((n for n in self.lengths), default=0)
        try:
            if role == "softcap":
                plain, off = (measure.fit_of(w, w.seen(), self.lane) for w in (
                    measure.weights_of(self.found.asked(), self._shape(n), told, 1)
                    for told in (self._told(d), self._told(d, **{name: value}))))
                return off.outer is None and abs(off.factor() - plain.factor()) < 0.05 * plain.factor()
            return self._mask(self._longest(), self._told(d, **{name: value})).left is None
        except Exception:  # pylint: disable=broad-except
            return False

    # --- what it computes

    def _shape(self, n, **more):
        d = 64 if 64 in self.channels else self.found.size[1]
        return dataclasses.replace(Shape(1, 1, n, n, d, d), **more)

    def _longest(self):
        """Keys of the longest question: past every window that the code may hold."""
        windows = [c for c in self.constants if c.is_integer() and 48 < c <= 2048]
        n = min(_LONGEST, int(-(-max([256, *windows]) // 64) * 64 + 64))
        return n if self._answers(sq=n, skv=n) else max(self.lengths)

    def _mask(self, n, told):
        shape = self._shape(n)
        seen = measure.weights_of(self.found.asked(), shape, told, 0.05).seen()[0]
        return measure.mask_of(seen)[0]

    def _told_by_statement(self, d):
        """Values of the parameters that make the kernel compute what --is states, or nothing."""
        if self.stated is None:
            return self._told(d)
        told, told_mask = self._told(d), self.stated.mask or measure.Mask()
        if "causal" in self.tells:
            told[self.tells["causal"][0]] = told_mask.right == 0
        if "window" in self.tells and told_mask.left is not None:
            name, form, _ = self.tells["window"]
            told[name] = window_value(form, told_mask.left, told_mask.right, told_mask.right == 0)
        if "softcap" in self.tells and self.stated.cap is not None:
            told[self.tells["softcap"][0]] = self.stated.cap
        if "scale" in self.tells and self.stated.scale != ROOT:
            told[self.tells["scale"][0]] = self.stated.scale
        return told

    def read(self):
        """The Reading, with self.trouble where it does not explain everything. Raises Unreadable."""
        n = self._longest()
        self.longest = n
        shape = self._shape(n)
        told, asked, lane = self._told_by_statement(shape.d), self.found.asked(), self.lane
        tiny = measure.weights_of(asked, shape, told, 0.05)
        seen = tiny.seen()
        factor = max(abs(measure.fit_of(tiny, seen, lane).factor()), 1e-6)
        self.gentle = 0.5 / (factor * shape.d**0.5)
        small = measure.weights_of(asked, shape, told, self.gentle)
        mask, odd = measure.mask_of(seen[0])
        if odd > 0.05:
            raise Unreadable("its mask is none of full, causal, window, chunks, prefix")
        self.trouble = _odd_pairs(mask, seen[0]) if odd else ""
        gentle = measure.fit_of(small, seen, lane)
        size = 14 if lane != "f16" else 2
        large = measure.weights_of(asked, shape, told, size / max(abs(gentle.factor()), 1e-6) / shape.d**0.5)
        fit = measure.fit_of(large, seen, lane)
        self._find_lse(small, seen, gentle, told)
        found = self._of_fit(mask, fit, large, seen, shape.d)
        self._check_heads(told, seen.shape[-1])
        self._find_conventions(mask, found.align)
        return found

    def _of_fit(self, mask, fit, weights, seen, d):
        lane = self.lane
        if not measure.good(fit, lane):
            most = measure.most_fit(weights, seen, lane)
            if most is None or most[1].sum() > 0.8 * seen.sum():
                raise Unreadable("its scores are not q.k with a factor and a softcap")
            fit, odd = most
            self.trouble = self.trouble or _partly(fit, measure.fit_of(weights, odd, lane), odd, lane)
        scale, cap = self._numbers(fit, d)
        return Reading(mask, self._align(mask), cap, scale)

    def _check_heads(self, told, longest):
        """Which key head each query head reads, of four and two."""
        if not self.groups or self.trouble:
            return
        shape = self._shape(min((n for n in self.lengths if n >= 16), default=longest), hq=4, hkv=2)
        weights = measure.weights_of(self.found.asked(), shape, told, self.gentle)
        seen = weights.seen()
        if measure.good(measure.fit_of(weights, seen, self.lane), self.lane):
            return
        turned = dataclasses.replace(weights, z=weights.z_of(np.arange(4) % 2))
        if measure.good(measure.fit_of(turned, seen, self.lane), self.lane):
            self.trouble = ("query head h reads key head h mod 2 where floor(h / 2) is right, of 4 query "
                            "heads and 2 key heads")

    def _numbers(self, fit, d):
        """Scale and cap of a fit; self.trouble says so where no usual scale explains it."""
        lane, factor = self.lane, fit.factor()
        caps = sorted(self.constants) + ([self.stated.cap] if self.stated and self.stated.cap else [])
        fixed = [self.stated.scale] if self.stated and self.stated.scale != ROOT else [
            1.0, *sorted(self.constants)]
        scale = ROOT if self._is_scale(factor, lambda d: d**-0.5) else next(
            (s for s in fixed if s > 0 and self._is_scale(factor, lambda d, s=s: s)), None)
        if scale is not None:
            return scale, None if fit.outer is None else measure.rounded(fit.outer, caps, lane)
        asked = self.stated or Reading()
        if fit.outer is None:
            self.trouble = self.trouble or reading.scale_difference(asked, factor, d, lane)
            return asked.scale, None
        want = d**-0.5 if asked.scale == ROOT else asked.scale
        cap = measure.rounded(want / fit.inner, caps, lane)
        behind = factor / want
        known = [c for c in caps if measure.close(fit.outer, c, lane)]
        if known:  # the cap is right, and the factor stands before it
            self.trouble = self.trouble or reading.scale_difference(asked, factor, d, lane)
            return asked.scale, known[0]
        self.trouble = self.trouble or (f"scores are {behind:.4g} times as large behind the softcap"
                                        + reading.base_text(behind, lane))
        return asked.scale, cap

    def _is_scale(self, factor, scale_of):
        """Whether the factor is the scale that `scale_of` says of d, at another d, too, as far as the
        kernel takes one."""
        own = self._shape(1).d
        if not measure.close(factor, scale_of(own), self.lane):
            return False
        other = next((n for n in self.channels if n != own and n >= 16), None)
        if other is None:
            return True
        if self._other_factor is None:
            n = min((n for n in self.lengths if n >= 16), default=self.found.size[0])
            try:
                weights = measure.weights_of(self.found.asked(), self._shape(n, d=other, dv=other),
                                             self._told_by_statement(other), self.gentle)
                self._other_factor = measure.fit_of(weights, weights.seen(), self.lane).factor()
            except Exception:  # pylint: disable=broad-except
                self._other_factor = 0.0
        return measure.close(self._other_factor, scale_of(other), self.lane)

    def _align(self, mask):
        """"tl" or "br" by questions with more keys, or more queries, than the other."""
        if not (self.wider or self.taller) or mask == measure.Mask():
            return None
        s = next((n for n in self.lengths if n >= 7), self.found.size[0])
        for sq, skv in ((s, 2 * s),) if self.wider else ((2 * s, s),):
            shape = self._shape(s, sq=sq, skv=skv)
            told = self._told_by_statement(shape.d)
            seen = measure.weights_of(self.found.asked(), shape, told, self.gentle).seen()[0]
            fits = [name for name, offset in (("tl", 0), ("br", skv - sq))
                    if (mask.seen(sq, skv, offset) == seen).all()]
            if not fits:
                self.trouble = self.trouble or (
                    f"with {sq} queries and {skv} keys the mask stands neither at the top left nor at "
                    "the bottom right")
                return "tl"
            return fits[0]
        return None

    # --- what only its author can say

    def _find_conventions(self, mask, align):
        """Fields of a profile, and a sentence for each that is a convention of this kernel."""
        self.fields, self.yours = ["repeat = no"], []
        self._find_hidden(mask)
        self._find_empty(mask, align)
        if self.lse == "2":
            self.fields.append("lse_base = 2")
            self.yours.append("lse is a logarithm to base 2")
        if self.found.wide:
            self.fields.append("out = f32")
            self.yours.append("o is f32 beside tensors of 16 bits, and is judged as if it were rounded")

    def _poisoned(self, shape, key):
        """o [sq, d] where k and v of a key are NaN."""
        drawn = np.random.default_rng(5)
        q, k, v = (drawn.standard_normal((1, 1, n, shape.d)) for n in (shape.sq, shape.skv, shape.skv))
        k[0, 0, key] = v[0, 0, key] = np.nan
        return self.found.asked()(q, k, v, self._told_by_statement(shape.d))["o"][0, 0]

    def _find_hidden(self, mask):
        n = next((n for n in self.lengths if n >= 7), self.found.size[0])
        try:
            o = self._poisoned(self._shape(n), n - 1)
        except Exception:  # pylint: disable=broad-except
            return
        hidden = ~mask.seen(n, n, 0)[:, n - 1]
        if hidden.any() and not np.isfinite(o[hidden]).all():
            self.fields += ["masked_nan_safe = no", "nan = unspecified"]
            self.yours.append("NaN behind the mask reaches the output (0 * NaN), as in most kernels")
        elif not np.isnan(o[~hidden]).all():
            self.fields.append("nan = unspecified")
            self.yours.append("NaN in a key that a query sees may vanish")

    def _find_empty(self, mask, align):
        s = next((n for n in self.lengths if n >= 7), self.found.size[0])
        shape = self._shape(s, sq=2 * s + (mask.left or 0))
        offset = shape.skv - shape.sq if align == "br" else 0
        empty = ~mask.seen(shape.sq, shape.skv, offset).any(1)
        if not self.taller or not empty.any():
            return
        try:
            o = measure.weights_of(self.found.asked(), shape, self._told_by_statement(shape.d), self.gentle).w[0]
        except Exception:  # pylint: disable=broad-except
            o = np.full((shape.sq, shape.skv), np.nan)
        if not (o[empty] == 0).all() or self.lse:
            self.fields.append("empty_row = unspecified")
            self.yours.append("rows that see no key are not defined")

    def _find_lse(self, weights, seen, fit, told):
        """Whether the second result is an lse, and its base."""
        self.lse, self.beside = None, ""
        stranger, returned = self.found.stranger, self.found.returned
        if len(returned) < 2:
            return
        rows, keys = weights.w.shape[1:]
        shape = self._shape(keys, sq=rows)
        for name in ("lse", "lse_sh") if str(returned[1][1]).endswith("float32") else ():
            stranger.returns = ("o", name)
            try:
                again = measure.weights_of(self.found.asked(), shape, told, self.gentle)
                self.lse = self.lse or measure.lse_base(again, seen, fit)
            except Exception:  # pylint: disable=broad-except
                continue
            if self.lse:
                return
        stranger.returns = ("o",)
        more = len(returned) - 1
        self.beside = (f"{more} further result{'s' if more > 1 else ''} (no lse in float32 to base e "
                       "or 2)")

def _odd_pairs(mask, seen):
    n = len(seen)
    wrong = mask.seen(n, n, 0) != seen
    row = int(wrong.any(1).argmax())
    key = int(wrong[row].argmax())
    verb = "sees" if seen[row, key] else "does not see"
    return (f"query {row} {verb} key {key}, against the mask of the other pairs"
            f" ({int(wrong.sum())} pairs of {n * n})")


def _partly(most, there, odd, lane):
    """The sentence about the pairs that do not follow the fit of most."""
    rows, keys = (np.flatnonzero(odd[0].sum(axis) > 2) for axis in (1, 0))
    if len(rows) == 0 or len(keys) == 0:
        return f"{int(odd.sum())} scores are not those of the other pairs"
    place = f"keys {keys[0]}..{keys[-1]} of queries {rows[0]}..{rows[-1]}"
    if not measure.good(there, lane):
        return f"in {place} scores are not those of the other pairs"
    if most.outer is not None and there.outer is None:
        return f"in {place} no softcap is applied"
    return f"in {place} scores are {there.factor() / most.factor():.4g} times those of the other pairs"


# --- what the program is told

_PLAIN = ("q_seg=none kv_seg=none valid_q=sq valid_kv=skv sinklogit=none page=none alias=none "
          "layout=bhsd kvlane=none qlane=none shard=none")


def where_of(look, found):
    """The condition that every case meets which the kernel is asked, as fuzz --where takes it."""
    keys = found.keys() | _told_keys(look)
    if "scale" not in keys:
        keys["scale"] = "default|0.3" if "scale" in look.tells and look.stated is None else "default"
    words = [f"{key}={value}" for key, value in keys.items()]
    if not look.any_length:
        words.append("sq=" + "|".join(map(str, look.lengths)))
    if not (look.wider and look.taller):
        words.append("skv=sq")
    if not look.any_length and look.wider:
        words.append("skv=" + "|".join(map(str, look.lengths)))
    if not {16, 32, 64} <= set(look.channels):
        words.append("d=" + "|".join(map(str, look.channels)))
    words += [] if look.groups else ["hkv=hq"]
    words += [] if look.values else ["dv=d"]
    return " ".join(words) + " " + _PLAIN


def _told_keys(look):
    """Keys with all values that parameters can tell, where --is states none."""
    if look.stated is not None:
        return {}
    keys, masks = {}, []
    if "causal" in look.tells:
        masks += ["full", "causal"]
    if "window" in look.tells:
        pair = look.tells["window"][1] == "pair"
        masks += ["causal&window:5,0", "causal&window:40,0"] + (["window:7,3"] if pair else [])
    if masks:
        keys["mask"] = "|".join(masks)
    if "softcap" in look.tells:
        keys["cap"] = "none|50|5"
    return keys


def _told_text(look):
    """The parameters that cases give their values, and what a number for a window means."""
    means = {"keys": " (the query's own key and W - 1 before it)",
             "before": " (the query's own key and W before it)"}
    names = [name + ("=W" + means[form] if role == "window" and form in means else "")
             for role, (name, form, _) in look.tells.items()]
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def spec_of(look, target):
    """The kernel as --candidate takes it."""
    found, fixed = look.found, set()
    keys = look.reading.keys()
    for role, word in (("causal", "causal"), ("window", "window")):
        if word in keys["mask"].replace("&", " ").replace(":", " ").split():
            fixed.add(role)
    special = look.reading.mask is None or look.reading.mask.chunk or look.reading.mask.prefix or \
        look.reading.mask.sink
    fixed |= {"masks"} if special else set()
    fixed |= {"softcap"} if keys["cap"] != "none" else set()
    fixed |= {"scale"} if "scale" in keys else set()
    fixed |= {"offset"} if keys["align"] == "br" else set()
    fixed |= {"groups"} if look.groups else set()
    fixed |= {"value_dim"} if look.values else set()
    fixed -= set(look.tells)
    facts = {"framework": found.framework, "layout": found.stranger.layout,
             "features": "+".join(sorted(fixed)),
             "tells": "+".join(":".join([role, *told]).rstrip(":")
                               for role, told in look.tells.items()),
             "returns": "+".join(found.stranger.returns), "lanes": "+".join(found.lanes),
             "lacks": "" if look.lse else "lse",
             "alignment": "64" if found.framework == "torch" else ""}
    words = [f"{key}={value}" for key, value in facts.items()
             if value and (key, value) not in (("framework", "numpy"), ("returns", "o"))]
    return "py:" + ",".join(map(quoted, [target, *words]))


def place_of_function(function, framework):
    plain = getattr(function, "func", function)
    plain = getattr(plain, "__func__", getattr(type(plain), "forward", plain))
    code = getattr(plain, "__code__", None)
    at = f"{os.path.relpath(code.co_filename)}:{code.co_firstlineno}, " if code else ""
    title = {"numpy": "NumPy", "jax": "JAX"}.get(framework, framework)
    return f"{at}{title}" + ("" if framework == "numpy" else " on the CPU")


def looked(target, words):
    """What the program gets, as a dict."""
    function = load(target)
    if hasattr(function, "__lockstep__") or "call" in parameters_of(function):
        given = facts_of(function)
        framework = frameworks_of(function)[0]
        guessed = framework if not hasattr(function, "__lockstep__") and framework != "numpy" else ""
        return {"declared": True, "op": given.op[0],
                "facts": f",framework={guessed}" if guessed else ""}
    look = Look(function, words)
    result = {"name": target.rpartition(":")[2],
              "place": place_of_function(look.found.stranger.function, look.found.framework),
              "lanes": look.found.lanes, "wide": look.found.wide, "unseen": look.unseen,
              "differs": "", "trouble": "", "unreadable": "", "told": _told_text(look)}
    try:
        look.reading = look.read()
    except Unreadable as why:
        look.reading, result["unreadable"] = look.stated or Reading(), str(why)
    asked = look.stated or look.reading
    if look.stated is not None and not result["unreadable"]:
        equal = not (look.wider or look.taller)
        result["differs"] = reading.difference(asked, look.reading, look.lane, equal)
        look.reading, measured = asked, look.reading
        result["computes"] = measured.sentence()
    else:
        result["computes"] = look.reading.sentence()
    result["trouble"] = look.trouble
    result |= {"returns": "o and lse" if look.lse else "o", "lse": look.lse or "",
               "beside": look.beside, "spec": spec_of(look, target), "is": asked.words(),
               "where": where_of(look, asked), "longest": look.longest,
               "fields": look.fields, "yours": look.yours,
               "reach": max([look.reading.mask.left or 0] if look.reading.mask else [0]),
               "limits": _limits_text(look)}
    return result


def _limits_text(look):
    """What it does not take, in words."""
    found = [] if look.groups else ["fewer key heads than query heads"]
    found += [] if look.wider or look.taller else ["queries and keys of different number"]
    found += [] if look.values else ["values of another width"]
    return found


def main(words):
    if len(words) < 2:
        print("lockstep.look: want FILE.py:FUNCTION OUT [KEY=VALUE]...", file=sys.stderr)
        return 2
    os.dup2(2, 1)  # what a module prints is no part of the screen
    target, out, *keys = words
    try:
        result = looked(target, dict(word.partition("=")[::2] for word in keys))
    except LockstepError as error:
        result = {"error": str(error)}
    except (Exception, SystemExit) as error:  # pylint: disable=broad-except
        result = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
    with contextlib.suppress(OSError), open(out, "w", encoding="utf-8") as file:
        json.dump(result, file)
    return 0


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)
