"""Looks at a kernel that check was given, and asks what it computes."""
import dataclasses
import time

import numpy as np

from lockstep import measure, reading
from lockstep.conventions import find_conventions, find_lse
from lockstep.frameworks import to_framework
from lockstep.measure import Shape, Unreadable
from lockstep.opening import answering, constants_of, opened, right_layout, scale_told
from lockstep.reading import ROOT, Reading
from lockstep.strangers import OFFS, Stranger, role_of, window_value

_TOLD = ("causal", "window", "softcap", "scale", "segments")
_FAR = 2048  # keys of the question how far the last query sees
_SLOW = 4  # seconds, from which that is not asked
_PATIENCE = 8  # seconds for the questions about weights


class Look:
    """One kernel, what it takes and what it computes."""

    def __init__(self, function, words):
        self.function, self.stated = function, reading.stated(words) if words else None
        self.found = opened(function)
        self._choose_layout()
        self.lane = self.found.lanes[0]
        self.constants = constants_of(self.found.stranger.function)
        self.unseen, self.tells, self.trouble = [], {}, ""
        self.finite = self.far = False
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
            other = answering(Stranger(self.function, turned), first.framework, first.size, first.base)
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
        self.channels = [n for n in (1, 8, 16, 32, 40, 64, 80, 128, 256)
                         if n == d or self._answers(d=n, dv=n)]
        self.any_channels = {1, 8, 16, 40, 80} <= set(self.channels)
        self.values = self.any_channels and self._answers(d=32, dv=16) and self._answers(d=16, dv=32)
        self.lengths = [n for n in (1, 2, 7, 37, 64, 96, 128, 256)
                        if n == s or self._answers(sq=n, skv=n)]
        self.any_length = all(n in self.lengths for n in (1, 2, 7, 37))

    def _told(self, d, **more):
        return self.found.base | scale_told(self.found.stranger, d) | {
            name: OFFS[off] for name, _, off in self.tells.values() if off} | more

    # --- what it can be told

    def _find_tells(self):
        names = {role_of(n): (n, p) for n, p in self.found.stranger.parameters.items()}
        for role in _TOLD:
            if role not in names:
                continue
            name, p = names[role]
            if role == "causal" or role == "segments" and self.found.stranger.layout in ("bhsd", "bshd"):
                self.tells[role] = (name, "", "")
            elif role == "scale":
                root = p.default in (None, 0)
                self.tells[role] = (name, "" if root else "always", "")
            elif role == "segments" or not self._tell(role, name, p):
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
                    measure.weights_of(self.found.asked(), self.shape(n), told, 1)
                    for told in (self._told(d), self._told(d, **{name: value}))))
                return off.outer is None and abs(off.factor() - plain.factor()) < 0.05 * plain.factor()
            return self._mask(self._longest(), self._told(d, **{name: value})).left is None
        except Exception:  # pylint: disable=broad-except
            return False

    # --- what it computes

    def shape(self, n, **more):
        d = 64 if 64 in self.channels else self.found.size[1]
        return dataclasses.replace(Shape(1, 1, n, n, d, d), **more)

    def _longest(self):
        """Keys of the longest question: past every window that the code may hold, and past how far
        the last of many queries sees."""
        windows = [c for c in self.constants if c.is_integer() and 48 < c <= _FAR]
        known = max(n for n in self.lengths if n <= 256)
        spent = min(self._seconds(known) for _ in range(3))
        if spent * (_FAR / known)**2 <= _SLOW:
            windows.append(self._sees_back() or 0)
        n = int(-(-max([256, *windows]) // 64) * 64 + 64)
        # Four questions of n / 64 calls each, and work as the square of n.
        while n > 64 and 4 * (n // 64) * spent * (n / known)**2 > _PATIENCE:
            n -= 64
        return n if self._answers(sq=n, skv=n) else max(self.lengths)

    def _seconds(self, n):
        start = time.perf_counter()
        self._answers(sq=n, skv=n)
        return time.perf_counter() - start

    def _sees_back(self):
        """About how many keys the last of 2048 queries sees; None where it sees the first one, or
        takes no such length."""
        shape = self.shape(_FAR)
        drawn, step = np.random.default_rng(6), _FAR // shape.dv
        q, k = (0.3 * drawn.standard_normal((1, 1, _FAR, shape.d)) for _ in range(2))
        v = np.zeros((1, 1, _FAR, shape.dv))
        v[0, 0, np.arange(shape.dv) * step, np.arange(shape.dv)] = 1
        try:
            last = self.found.asked()(q, k, v, self.told_by_statement(shape.d))["o"][0, 0, -1]
        except Exception:  # pylint: disable=broad-except
            return None
        self.far = True
        seen = np.flatnonzero(last > 0)
        return None if len(seen) == 0 or seen[0] == 0 else int(_FAR - seen[0] * step + step)

    def _mask(self, n, told):
        shape = self.shape(n)
        seen = measure.weights_of(self.found.asked(), shape, told, 0.05).seen()[0]
        return measure.mask_of(seen)[0]

    def told_by_statement(self, d):
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
        self.longest = max(n, _FAR) if self.far else n
        shape = self.shape(n)
        told, asked, lane = self.told_by_statement(shape.d), self.found.asked(), self.lane
        tiny = measure.weights_of(asked, shape, told, 0.05)
        seen = tiny.seen()
        factor = max(abs(measure.fit_of(tiny, seen, lane).factor()), 1e-6)
        self.gentle = 0.5 / (factor * shape.d**0.5)
        small = measure.weights_of(asked, shape, told, self.gentle)
        mask, odd = measure.mask_of(seen[0])
        if odd > 0.05:
            raise Unreadable("its mask is none of full, causal, window, chunks, prefix")
        self.trouble = _odd_pairs(mask, seen[0]) if odd else ""
        bound = self.stated.mask.left if self.stated and self.stated.mask else None
        if mask.left is None and (bound or 0) >= self.longest:  # cases show it, no question does
            mask = dataclasses.replace(mask, left=bound)
        gentle = measure.fit_of(small, seen, lane)
        size = 14 if lane != "f16" else 2
        large = measure.weights_of(asked, shape, told, size / max(abs(gentle.factor()), 1e-6) / shape.d**0.5)
        fit = measure.fit_of(large, seen, lane)
        find_lse(self, small, seen, gentle, told)
        found = self._of_fit(mask, fit, large, seen, shape.d)
        self._check_heads(told, seen.shape[-1])
        self._check_segments(told, mask)
        find_conventions(self, mask, found.align)
        return found

    def _of_fit(self, mask, fit, weights, seen, d):
        lane, blocks = self.lane, measure.Blocks(weights, seen, self.lane)
        if not measure.good(fit, lane) or not blocks.even(fit):
            most = blocks.most()
            if most is None or most[1].sum() > 0.8 * seen.sum():
                raise Unreadable("its scores are not q.k with a factor and a softcap")
            fit, odd = most
            if odd.any():
                self.trouble = self.trouble or _partly(
                    fit, measure.fit_of(weights, odd, lane), odd, lane)
        elif self.stated is not None:
            fit = self._stated_fit(weights, seen, blocks, d) or fit
        scale, cap = self._numbers(fit, d)
        return Reading(mask, self._align(mask), cap, scale)

    def _stated_fit(self, weights, seen, blocks, d):
        """What is stated as a fit, where it leaves no more than rounding does."""
        scale = d**-0.5 if self.stated.scale == ROOT else self.stated.scale
        cap = self.stated.cap
        fit = measure.Fit(scale, None, 0) if cap is None else measure.Fit(scale / cap, cap, 0)
        fit.rest = measure.rest_of(weights, seen, self.lane, fit)
        return fit if measure.good(fit, self.lane) and blocks.even(fit) else None

    def _check_heads(self, told, longest):
        """Which key head each query head reads, of four and two."""
        if not self.groups or self.trouble:
            return
        shape = self.shape(min((n for n in self.lengths if n >= 16), default=longest), hq=4, hkv=2)
        weights = measure.weights_of(self.found.asked(), shape, told, self.gentle)
        seen = weights.seen()
        if measure.good(measure.fit_of(weights, seen, self.lane), self.lane):
            return
        turned = dataclasses.replace(weights, z=weights.z_of(np.arange(4) % 2))
        if measure.good(measure.fit_of(turned, seen, self.lane), self.lane):
            self.trouble = ("query head h reads key head h mod 2 where floor(h / 2) is right, of 4 query "
                            "heads and 2 key heads")

    def _check_segments(self, told, mask):
        """Whether documents that it is told of are kept apart."""
        if "segments" not in self.tells or self.trouble:
            return
        n = min((n for n in self.lengths if n >= 16), default=self.found.size[0])
        border = n // 3
        ids = (np.arange(n) >= border).astype(np.int32)[None]
        given = told | {self.tells["segments"][0]: to_framework(ids, self.found.framework)}
        seen = measure.weights_of(self.found.asked(), self.shape(n), given, self.gentle).seen()[0]
        right = mask.seen(n, n, 0) & (ids[0][:, None] == ids[0][None, :])
        wrong = seen != right
        if not wrong.any():
            return
        row, key = np.argwhere(wrong)[0]
        name = self.tells["segments"][0]
        if not wrong[:border].any() and not wrong[border + 1:].any():
            self.trouble = f"the first query of a segment ({name}=) still sees the segment before it"
        elif not np.delete(wrong, border - 1, 1).any() and not wrong[:border].any():
            self.trouble = f"queries of a segment ({name}=) see the last key of the segment before it"
        elif (seen == mask.seen(n, n, 0)).all():
            self.trouble = f"{name}= is ignored"
        else:
            verb = "sees" if seen[row, key] else "does not see"
            self.trouble = (f"segments are not kept apart: of {n} tokens with a border at {border}, query "
                            f"{row} {verb} key {key}")

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
        own = self.shape(1).d
        if not measure.close(factor, scale_of(own), self.lane):
            return False
        other = next((n for n in self.channels if n != own and n >= 16), None)
        if other is None:
            return True
        if self._other_factor is None:
            n = min((n for n in self.lengths if n >= 16), default=self.found.size[0])
            try:
                weights = measure.weights_of(self.found.asked(), self.shape(n, d=other, dv=other),
                                             self.told_by_statement(other), self.gentle)
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
            shape = self.shape(s, sq=sq, skv=skv)
            told = self.told_by_statement(shape.d)
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

    def has_gradients(self):
        """Whether the framework can differentiate it."""
        d = self.found.size[1]
        q, k, v = (to_framework(np.ones((1, 1, self.found.size[0], d), np.float32),
                                self.found.framework) for _ in range(3))
        try:
            if self.found.framework == "torch":
                answer = self.found.stranger(q.clone().requires_grad_(), k, v, self._told(d))
                return bool(answer["o"].requires_grad)
            import jax
            jax.vjp(lambda *x: self.found.stranger(*x, self._told(d))["o"], q, k, v)
            return True
        except Exception:  # pylint: disable=broad-except
            return False


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
    shown = f"as queries {rows[0]}..{rows[-1]} show"
    place = f"for keys {keys[0]}..{keys[-1]}"
    if not measure.good(there, lane):
        return f"scores {place} are not those of other keys, {shown}"
    if most.outer is not None and there.outer is None:
        return f"no softcap is applied {place}, {shown}"
    return f"scores {place} are {there.factor() / most.factor():.4g} times those of other keys, {shown}"
