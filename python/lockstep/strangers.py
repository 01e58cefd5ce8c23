"""Kernels that know nothing of lockstep: their own parameters, their own order of axes.

`adapted` makes a kernel with a parameter `call` of a plain function. The facts `layout`,
`tells` and `returns` say how (docs/python.md, "Kernels as they are").
"""
import functools
import inspect
import math

from lockstep.call import features_of
from lockstep.errors import Unsupported, UsageError
from lockstep.frameworks import framework_of

# Parameters that are known by their names, lower case. The first name is the role's own.
ROLES = {
    "q": ("q", "query", "queries", "xq", "q_states", "query_states"),
    "k": ("k", "key", "keys", "xk", "k_states", "key_states"),
    "v": ("v", "value", "values", "val", "xv", "v_states", "value_states"),
    "causal": ("causal", "is_causal", "use_causal"),
    "window": ("window", "window_size", "sliding_window", "sliding_window_size",
               "local_window_size", "win"),
    "softcap": ("softcap", "soft_cap", "logits_soft_cap", "logits_softcap", "logit_softcap",
                "logit_cap", "attn_logit_softcapping", "cap"),
    "scale": ("scale", "sm_scale", "softmax_scale", "attn_scale", "scaling"),
    "enable_gqa": ("enable_gqa",),
    "segments": ("segment_ids", "segments", "seg_ids", "seq_idx", "doc_ids", "document_ids"),
}
LAYOUTS = ("bhsd", "bshd", "hsd", "shd", "sd")
# How a window is told: the number of keys with the query's own, of keys before it, or both
# sides; the last is what a causal kernel with keys on both sides has.
FORMS = ("keys", "before", "pair")
# What a parameter may get where a case has no window or cap, by the word of `tells`.
OFFS = {"none": None, "0": 0, "-1": -1, "pair": (-1, -1)}
# Shown by the arrays, or absent from some shapes of one and the same mask.
_SHOWN, _BY_SHAPE = {"groups", "value_dim"}, {"offset", "scale"}


def role_of(name):
    """The role of a parameter of that name, or None."""
    return next((role for role, names in ROLES.items() if name.lower() in names), None)


def bound(function):
    """The function itself; of a class, or of a method of a class, that of an instance, if one
    can be made without arguments. Raises UsageError otherwise."""
    owner = function if inspect.isclass(function) else _class_of(function)
    if owner is None:
        return function
    try:
        instance = owner()
    except Exception as error:  # pylint: disable=broad-except
        raise UsageError(f"{owner.__name__} makes no instance without arguments "
                         f"({type(error).__name__}: {error}); write kernel = {owner.__name__}(...) "
                         "in the file, and check FILE.py:kernel") from None
    if owner is function:
        if not callable(instance):
            if callable(getattr(instance, "forward", None)):
                return instance.forward
            raise UsageError(f"an instance of {owner.__name__} cannot be called; name a method, "
                             f"such as FILE.py:{owner.__name__}.forward")
        return instance
    return getattr(instance, function.__name__)


def _class_of(function):
    """The class that an unbound method lies in, or None."""
    names = getattr(function, "__qualname__", "").split(".")
    if inspect.ismethod(function) or len(names) != 2 or "<" in names[0]:
        return None
    owner = getattr(function, "__globals__", {}).get(names[0])
    plain = isinstance(inspect.getattr_static(owner, names[1], None), staticmethod)
    return owner if inspect.isclass(owner) and not plain else None


def parameters_of(function):
    """{name: inspect.Parameter} that a caller may fill: what a partial has filled is left out.
    Of a module of torch those of its forward."""
    plain = function.forward if hasattr(function, "forward") else function
    try:
        found = dict(inspect.signature(plain).parameters)
    except (TypeError, ValueError):
        return {}
    filled = function.keywords if isinstance(function, functools.partial) else {}
    return {name: p for name, p in found.items() if name not in filled}


def tensors_of(function):
    """The names of the parameters q, k, v by role. Raises UsageError where one has no name that
    is known, or another parameter has to be given."""
    names, needed = {}, []
    for name, p in parameters_of(function).items():
        role = role_of(name)
        if role in ("q", "k", "v"):
            names[role] = name
        elif role is None and p.default is p.empty and p.kind not in (p.VAR_KEYWORD,
                                                                      p.VAR_POSITIONAL):
            needed.append(name)
    missing = [role for role in ("q", "k", "v") if role not in names]
    title = getattr(function, "__name__", type(function).__name__)
    if missing:
        raise UsageError(f"{title}({', '.join(parameters_of(function))}) has no parameter "
                         f"{', '.join(missing)}; check knows kernels of attention by the names "
                         "q, k, v (or query, key, value)")
    if needed:
        raise UsageError(f"{title} also wants {', '.join(needed)}, which check does not know; "
                         "want a default, or a function of q, k, v that gives it")
    return names


class Stranger:
    """A function of q, k and v that is called by its own names, in its own layout.

    layout   order of the axes of q, k, v and o: one of LAYOUTS. Without b, and h, it is called
             for each batch row, and head
    tells    {role: (parameter, form)} of what it can be told
    returns  the names of what it returns, in order: o, lse, lse_sh with heads behind queries; "-"
             is left aside
    """

    def __init__(self, function, layout="bhsd", tells=None, returns=("o",)):
        if layout not in LAYOUTS:
            raise UsageError(f"layout {layout!r} is unknown; known: " + ", ".join(LAYOUTS))
        self.function, self.layout = bound(function), layout
        self.tells, self.returns = dict(tells or {}), tuple(returns)
        self.names = tensors_of(self.function)
        self.parameters = parameters_of(self.function)

    def __call__(self, q, k, v, told):
        """q [b, hq, sq, d], k, v [b, hkv, skv, d] and values by parameter -> {name: array}, o as
        [b, hq, sq, dv], lse as [b, hq, sq]."""
        if self.layout in ("bhsd", "bshd"):
            turned = self.layout == "bshd"
            parts = self._call(*(_dense(x.swapaxes(1, 2)) if turned else x for x in (q, k, v)),
                               told)
            parts = {name: x.swapaxes(1, 2) if turned and name == "o" else x
                     for name, x in parts.items()}
        else:
            parts = _stacked([self._row(q[b], k[b], v[b], told) for b in range(q.shape[0])])
        if "lse_sh" in parts:
            parts["lse"] = parts.pop("lse_sh").swapaxes(1, 2)
        return parts

    def _row(self, q, k, v, told):
        if self.layout == "hsd":
            return self._call(q, k, v, told)
        if self.layout == "shd":
            parts = self._call(*(_dense(x.swapaxes(0, 1)) for x in (q, k, v)), told)
            return {name: x.swapaxes(0, 1) if name == "o" else x for name, x in parts.items()}
        group = q.shape[0] // k.shape[0]
        return _stacked([self._call(q[h], k[h // group], v[h // group], told)
                         for h in range(q.shape[0])])

    def _call(self, q, k, v, told):
        given = {self.names["q"]: q, self.names["k"]: k, self.names["v"]: v, **told}
        ids = next((n for n in self.parameters if role_of(n) == "segments"), None)
        if ids and ids not in given and self.parameters[ids].default is inspect.Parameter.empty:
            rows = q[..., 0, 0] if self.layout in ("bshd", "shd") else q[..., 0, :, 0] if len(
                q.shape) > 2 else q[:, 0]
            given[ids] = rows.int() * 0 if framework_of(q) == "torch" else (rows * 0).astype("int32")
        gqa = next((n for n in self.parameters if role_of(n) == "enable_gqa"), None)
        if gqa and q.shape != k.shape:
            given[gqa] = True
        ahead = [given.pop(name) for name, p in self.parameters.items()
                 if p.kind is p.POSITIONAL_ONLY and name in given]
        answer = self.function(*ahead, **given)
        parts = listed(answer)
        if len(parts) < len(self.returns):
            raise Unsupported(f"it returned {len(parts)} arrays, and {len(self.returns)} before")
        return {name: _of_lane(part, q) if name == "o" else _flat(part, len(q.shape))
                for name, part in zip(self.returns, parts) if name != "-"}


def listed(answer):
    """What was returned, one by one: a tuple, a list, or the values of a dict."""
    if isinstance(answer, dict):
        return list(answer.values())
    return list(answer) if isinstance(answer, (tuple, list)) else [answer]


def _of_lane(o, q):
    """An o in f64 as the kernel would store it beside its inputs."""
    if str(o.dtype).split(".")[-1] != "float64":
        return o
    return o.to(q.dtype) if framework_of(o) == "torch" else o.astype(q.dtype)


def _flat(lse, axes):
    """An lse without an axis of one channel behind its queries, where o has so many axes."""
    return lse.reshape(lse.shape[:-1]) if len(lse.shape) == axes and lse.shape[-1] == 1 else lse


def _dense(x):
    """A copy in the order of its axes: kernels reshape their arguments."""
    framework = framework_of(x)
    if framework == "torch":
        return x.contiguous()
    return x if framework == "jax" else x.copy(order="C")


def _stacked(rows):
    """[{name: array}] as {name: array with one more axis in front}."""
    framework = framework_of(next(iter(rows[0].values())))
    if framework == "torch":
        from torch import stack
    elif framework == "jax":
        from jax.numpy import stack
    else:
        from numpy import stack
    return {name: stack([row[name] for row in rows]) for name in rows[0]}


def window_value(form, left, right, causal):
    """What a parameter of that form gets for at most `left` keys before a query and `right` behind
    it, None for no bound. Raises Unsupported where it cannot say so."""
    if form == "pair":
        return tuple(-1 if side is None else side for side in (left, right))
    if left is None or (right or 0) != 0 and not causal:
        raise Unsupported("its window is one number, which bounds keys before the query")
    return left + 1 if form == "keys" else left


def tells_of(words, roles=None):
    """["window:window_size:pair:none", ...] as {role: (parameter, form, off)}."""
    tells = {}
    for word in words:
        role, name, form, off = (word.split(":") + ["", "", ""])[:4]
        if role not in (roles or ROLES) or not name or off not in ("", *OFFS):
            raise UsageError(f"tells: {word!r} is no ROLE:PARAMETER, such as causal:is_causal")
        tells[role] = (name, form, off)
    return tells


def adapted(function, facts):
    """A kernel of q, k, v and `call` that asks a stranger as its facts say."""
    stranger = Stranger(function, facts.layout, tells_of(facts.tells), facts.returns or ("o",))
    features = set(facts.features or ())

    def kernel(q, k, v, *, call):
        _refuse_others(call, features, set(stranger.tells))
        try:
            parts = stranger(q, k, v, told_of(stranger.tells, call))
        except (AssertionError, NotImplementedError, ValueError) as why:  # it says that it does not
            raise Unsupported(f"{type(why).__name__}: {why}") from why
        return tuple(parts[name] for name in ("o", "lse") if name in parts)

    kernel.__name__ = getattr(function, "__name__", type(function).__name__)
    if facts.op != ("attention_backward",):
        return kernel
    from lockstep.autograd import autograd_kernel
    return autograd_kernel(framework=facts.framework)(kernel)


def _refuse_others(call, features, told):
    """Raises Unsupported where a call asks for what a stranger neither does always, `features`,
    nor can be told, or not for what it does always."""
    has = features_of(call)
    more = has - features - told
    less = features - told - has - _SHOWN - _BY_SHAPE
    if more or less:
        raise Unsupported("it is not told of " + ", ".join(sorted(more)) if more else
                          "it always has " + ", ".join(sorted(less)))


def _one_of(queries, keys):
    """Ids that queries and keys share; otherwise raises Unsupported."""
    if queries.shape != keys.shape or not bool((queries == keys).all()):
        raise Unsupported("it is told of one array of segments, for queries and keys alike")
    return queries


def told_of(tells, call):
    """The values of the parameters that a call needs. What a case does not ask for stays at its
    default where that is off, so that defaults are judged, too."""
    told = {name: OFFS[off] for name, _, off in tells.values() if off}
    if "causal" in tells:
        told[tells["causal"][0]] = call.causal
    if "window" in tells and call.window is not None:
        name, form, _ = tells["window"]
        told[name] = window_value(form, *call.window, call.causal)
    if "segments" in tells and "q_seg" in call.inputs:
        told[tells["segments"][0]] = _one_of(*call.segments)
    if "softcap" in tells and call.softcap is not None:
        told[tells["softcap"][0]] = call.softcap
    if "scale" in tells:
        name, form, _ = tells["scale"]
        if form == "always" or not math.isclose(call.scale, call.d ** -0.5, rel_tol=1e-6):
            told[name] = call.scale
    return told
