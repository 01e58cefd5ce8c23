"""Calls a stranger until it answers: framework, layout, lanes and what it returns."""
import dataclasses
import inspect
import numbers
import sys
import types

import numpy as np

from lockstep.errors import UsageError
from lockstep.frameworks import name_of, to_framework, to_numpy
from lockstep.measure import Asked
from lockstep.strangers import LAYOUTS, OFFS, Stranger, listed, role_of

_SIZES = ((7, 16), (16, 16), (64, 64), (128, 64), (128, 128), (256, 128))


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
                    return answering(stranger, framework, size, base)
                except Exception as error:  # pylint: disable=broad-except
                    why = why or f"{framework}, [b, h, s, d]: {type(error).__name__}: {error}"
    raise UsageError("it answered no call of check; the first said " + " ".join(why.split())[:400])


def answering(stranger, framework, size, base):
    lanes, wide, returned, why = [], False, [], None
    for lane in ("f32",) if framework == "numpy" else ("f32", "bf16", "f16"):
        try:
            stranger.returns = ("o",)
            told = base | scale_told(stranger, size[1])
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


def scale_told(stranger, d):
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
    told = found.base | scale_told(found.stranger, d)
    q, k, v = (drawn.standard_normal((1, 2, s, d)) for _ in range(3))
    before = asked(q, k, v, told)["o"]
    v[:, 0] += 1
    moved = np.nan_to_num(np.abs(asked(q, k, v, told)["o"] - before)).max(axis=(0, 3))
    return moved[0].max() > 0 and moved[1].max() == 0
