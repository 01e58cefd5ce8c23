"""Looks at a scan that check was given: its form of A, and what it can be told."""
import numpy as np

from lockstep.errors import UsageError
from lockstep.frameworks import to_framework, to_numpy
from lockstep.kernels import quoted
from lockstep.opening import frameworks_of
from lockstep.scans import FORMS, Scan, recurrence, role_of
from lockstep.strangers import listed, parameters_of

_NEAR, _ALIKE = 2e-3, 0.5  # largest error of an answer that fits, and of one that is like it
_LENGTHS = (1, 2, 7, 8, 16, 37, 64, 128, 192, 256)
_PLAIN = "skip=no gate=no cu=none layout=bthp pad=0 poison=none regime=typical"


class LookScan:
    """One scan, what it takes and what it computes."""

    def __init__(self, function):
        self.function = function
        self.parameters = parameters_of(function)
        self.framework, why = frameworks_of(function)[0], None
        self.tells, self.returns, self.error = {}, ("y",), np.inf
        forms = [f for f in FORMS if (f == "folded") != any(role_of(n) == "dt" for n in self.parameters)]
        for form in forms:
            for grouped in (True, False):
                try:
                    self._try(Scan(function, form, grouped=grouped))
                except UsageError:
                    raise
                except Exception as error:  # pylint: disable=broad-except
                    why = why or f"{type(error).__name__}: {error}"
        if not np.isfinite(self.error):
            raise UsageError("it answered no call of check with x [b, t, h, p], dt [b, t, h], A, B and C; "
                             f"the first said {' '.join(str(why).split())[:300]}")
        if self.error > _ALIKE:
            raise UsageError("it computes no scan that check knows: not y = C h with h = exp(dt A) h + dt x "
                             "B, with A [h] or [b, t, h]")
        self._find_limits()
        self._find_told()
        self.trouble = self._find_trouble()

    def _try(self, scan):
        for t in (64, 7):
            try:
                error = self._error(scan, t=t)
                break
            except Exception:  # pylint: disable=broad-except
                if t == 7:
                    raise
        if error < 0.5 * self.error:
            self.scan, self.error = scan, error

    def _inputs(self, t, h=2, g=None, p=4, n=8, seed=1):
        drawn = np.random.default_rng(seed)
        g = h if g is None else g
        narrow = lambda x: x.astype(np.float32).astype(np.float64)
        dt = narrow(drawn.uniform(0.05, 0.5, (2, t, h)))
        return [narrow(drawn.standard_normal((2, t, h, p))), dt, narrow(-dt * drawn.uniform(0.5, 2, dt.shape)),
                narrow(drawn.standard_normal((2, t, g, n))), narrow(drawn.standard_normal((2, t, g, n)))]

    def _ask(self, scan, inputs, told=None):
        told = {name: to_framework(x, self.framework) for name, x in (told or {}).items()}
        arrays = [to_framework(x.astype(np.float32), self.framework) for x in inputs]
        with np.errstate(all="ignore"):
            parts = scan(*arrays, told)
        return {name: np.asarray(to_numpy(x)).astype(np.float64) for name, x in parts.items()}

    def _error(self, scan, told=None, state=None, segments=None, **sizes):
        if not scan.grouped:
            sizes["g"] = 1
        inputs = self._inputs(**sizes)
        right, _ = recurrence(*inputs, state, segments)
        produced = self._ask(scan, inputs, told)["y"]
        if produced.shape != right.shape:
            raise UsageError(f"y has the shape {list(produced.shape)}, want that of x, {list(right.shape)}")
        return float(np.abs(produced - right).max() / np.abs(right).max())

    def _answers(self, **sizes):
        try:
            return bool(np.isfinite(self._error(self.scan, **sizes)))
        except Exception:  # pylint: disable=broad-except
            return False

    def _find_limits(self):
        self.lengths = [t for t in _LENGTHS if self._answers(t=t)]
        self.any_length = {1, 2, 7, 37} <= set(self.lengths)
        self.t = max(n for n in self.lengths if n <= 64)
        self.groups = self.scan.grouped and self._answers(t=self.t, h=4, g=2)

    def _find_told(self):
        for name in self.parameters:
            if role_of(name) == "carry":
                self._find_carry(name)
            elif role_of(name) == "segments":
                ids = np.repeat(np.arange(2, dtype=np.int32)[:, None], self.t, 1) * 0
                ids[:, self.t // 3:] += 1
                if self._takes({name: ids}):
                    self.tells["segments"] = name
        answer = listed(self._raw())
        if len(answer) > 1 and "segments" not in self.tells:
            shape = tuple(getattr(answer[1], "shape", ()))
            self.returns = {(2, 2, 4, 8): ("y", "carry_h"), (2, 2, 8, 4): ("y", "carry_np")}.get(shape, ("y",))

    def _natural(self, told, **sizes):
        """Its inputs and y where each token is one."""
        inputs = x, dt, a, b, c = self._inputs(**sizes)
        scan = Scan(self.function, "tokens" if self.scan.form == "heads" else self.scan.form,
                    grouped=self.scan.grouped)
        if self.scan.form == "heads":
            rates = -np.arange(1.0, x.shape[2] + 1)
            inputs = [x, dt, dt * rates, b, c]
            return inputs, self._ask(scan, [x, dt, rates, b, c], told)["y"]
        return inputs, self._ask(scan, inputs, told)["y"]

    def _find_trouble(self):
        """The sentence about runs or a state that it is told of, and does not heed; or \"\"."""
        sizes = {"t": self.t} | ({} if self.scan.grouped else {"g": 1})
        wrong = lambda y, right: (np.abs(y - right) > _NEAR * np.abs(right).max()).any(axis=(0, 2, 3))
        if "segments" in self.tells:
            border = self.t // 3
            ids = np.zeros((2, self.t), np.int32)
            ids[:, border:] = 1
            inputs, y = self._natural({self.tells["segments"]: ids}, **sizes)
            tokens = np.flatnonzero(wrong(y, recurrence(*inputs, None, ids)[0]))
            if list(tokens) == [border]:
                return "the first token of a run still reads the state of the run before"
            if len(tokens):
                return f"runs are not kept apart: of a run from token {border} on, token {tokens[0]} is wrong"
        if "carry" in self.tells:
            name, _, form = self.tells["carry"].partition(":")
            state = np.random.default_rng(4).standard_normal((2, 2, 4, 8)).astype(np.float32)
            given = state.swapaxes(2, 3).copy() if form else state
            inputs, y = self._natural({name: given}, **sizes)
            if wrong(y, recurrence(*inputs, state.astype(np.float64))[0]).any():
                ignored = not wrong(y, recurrence(*inputs)[0]).any()
                return f"{name}= is ignored" if ignored else f"{name}= does not act as the state before token 0"
        return ""

    def _takes(self, told):
        """Whether it answers, rightly or not."""
        try:
            sizes = {"t": self.t} | ({} if self.scan.grouped else {"g": 1})
            return np.isfinite(self._ask(self.scan, self._inputs(**sizes), told)["y"]).all()
        except Exception:  # pylint: disable=broad-except
            return False

    def _find_carry(self, name):
        state = np.random.default_rng(4).standard_normal((2, 2, 4, 8)).astype(np.float32)
        for form, given in (("", state), ("np", state.swapaxes(2, 3).copy())):
            if "carry" not in self.tells and self._takes({name: given}):
                self.tells["carry"] = name + (":" + form if form else "")

    def _raw(self):
        seen = []
        scan = self.scan
        plain = scan.function

        def spied(*words, **named):
            seen.append(plain(*words, **named))
            return seen[-1]

        scan.function = spied
        try:
            self._takes({})
        finally:
            scan.function = plain
        return seen[0]

    def spec(self, target):
        facts = {"op": "ssd_scan", "framework": self.framework, "layout": self.scan.form,
                 "features": "groups" if self.scan.grouped else "",
                 "tells": "+".join(f"{role}:{name}" for role, name in self.tells.items()),
                 "returns": "+".join(self.returns), "wants": "segments" if "segments" in self.tells else "",
                 "lanes": "f32", "lacks": "" if len(self.returns) > 1 else "carry_h"}
        return "py:" + ",".join(map(quoted, [target, *(f"{k}={v}" for k, v in facts.items() if v and v !=
                                                       "numpy")]))

    def where(self):
        words = [] if "segments" in self.tells else ["seg=none"]
        words += [] if "carry" in self.tells else ["carry=no"]
        words += [] if self.any_length else ["t=" + "|".join(map(str, self.lengths))]
        words += [] if self.groups else ["g=h" if self.scan.grouped else "g=1"]
        return " ".join([*words, _PLAIN])

    def sentence(self):
        decay = {"heads": "h = exp(dt A) h + dt x B, A one number a head",
                 "tokens": "h = exp(A) h + dt x B, A a number a token",
                 "folded": "h = exp(A) h + x B, A a number a token"}[self.scan.form]
        told = [f"{name.partition(':')[0]}=" for name in self.tells.values()]
        return f"y = C h with {decay}" + (f"; told {' and '.join(told)}" if told else "")


def looked_scan(target, function, words, place_of):
    """What the program gets of a scan, as a dict."""
    look = LookScan(function)
    for key in words:
        role = {"seg": "segments", "carry": "carry"}.get(key)
        if role and role not in look.tells:
            raise UsageError(f"--is: {target.rpartition(':')[2]} has no parameter that is known for "
                             + {"segments": "segments (seq_idx)", "carry": "initial_state"}[role])
        if not role and key != "op":
            raise UsageError("--is: of a scan want 'scan', 'scan segments' or 'scan initial_state'")
    unseen = [f"{name}=" for name, p in look.parameters.items() if role_of(name) is None]
    return {"op": "ssd_scan", "name": target.rpartition(":")[2], "place": place_of(look.scan.function,
                                                                                  look.framework),
            "lanes": ["f32"], "unseen": unseen, "computes": look.sentence(), "trouble": look.trouble,
            "is": " ".join(["scan", *({"segments": "segments", "carry": "initial_state"}[r]
                                      for r in look.tells)]),
            "returns": "y and the last state" if len(look.returns) > 1 else "y", "spec": look.spec(target),
            "where": look.where(), "fields": ["repeat = no", "masked_nan_safe = no", "nan = unspecified"],
            "limits": [] if look.groups else ["fewer groups of B and C than heads"]}
