"""What only the author of a kernel can say: NaN behind the mask, rows that see no key, the base of
its lse. Each is measured, and becomes a field of the profile and a sentence."""
import numpy as np

from lockstep import measure


def find_conventions(look, mask, align):
    """Fields of a profile, and a sentence for each that is a convention of this kernel."""
    look.fields, look.yours = ["repeat = no"], []
    _find_hidden(look, mask)
    _find_finite(look, mask)
    _find_empty(look, mask, align)
    if look.lse == "2":
        look.fields.append("lse_base = 2")
        look.yours.append("lse is a logarithm to base 2")
    if look.found.wide:
        look.fields.append("out = f32")
        look.yours.append("o is f32 beside tensors of 16 bits, and is judged as if it were rounded")


def _poisoned(look, shape, key):
    """o [sq, d] where k and v of a key are NaN."""
    drawn = np.random.default_rng(5)
    q, k, v = (drawn.standard_normal((1, 1, n, shape.d)) for n in (shape.sq, shape.skv, shape.skv))
    k[0, 0, key] = v[0, 0, key] = np.nan
    return look.found.asked()(q, k, v, look.told_by_statement(shape.d))["o"][0, 0]


def _find_hidden(look, mask):
    n = next((n for n in look.lengths if n >= 7), look.found.size[0])
    try:
        o = _poisoned(look, look.shape(n), n - 1)
    except Exception:  # pylint: disable=broad-except
        return
    hidden = ~mask.seen(n, n, 0)[:, n - 1]
    if hidden.any() and not np.isfinite(o[hidden]).all():
        look.fields += ["masked_nan_safe = no", "nan = unspecified"]
        look.yours.append("NaN behind the mask reaches the output (0 * NaN), as in most kernels")
    elif not np.isnan(o[~hidden]).all():
        look.fields.append("nan = unspecified")
        look.yours.append("NaN in a key that a query sees may vanish")


def _find_finite(look, mask):
    """Whether masked scores are a number that low scores meet: 0.9 of the float's range is as good
    as -inf, and -10000 is not."""
    n = next((n for n in look.lengths if n >= 7), look.found.size[0])
    shape = look.shape(n)
    hidden = ~mask.seen(n, n, 0)
    if not hidden.any() or look.lane == "f16":
        return
    q = np.full((1, 1, n, shape.d), 1.0)
    k = np.full((1, 1, n, shape.d), -1e6 / (shape.d**0.5))
    v = np.zeros((1, 1, n, shape.d))
    v[0, 0, n - 1] = 1
    try:
        o = look.found.asked()(q, k, v, look.told_by_statement(shape.d))["o"][0, 0]
    except Exception:  # pylint: disable=broad-except
        return
    look.finite = bool((o[hidden[:, n - 1]] > 0).any())
    if look.finite:
        look.yours.append("masked scores are a finite number, which very low scores meet: ordinary "
                          "numbers are judged alone")


def _find_empty(look, mask, align):
    s = next((n for n in look.lengths if n >= 7), look.found.size[0])
    shape = look.shape(s, sq=2 * s + (mask.left or 0))
    offset = shape.skv - shape.sq if align == "br" else 0
    empty = ~mask.seen(shape.sq, shape.skv, offset).any(1)
    if not look.taller or not empty.any():
        return
    try:
        o = measure.weights_of(look.found.asked(), shape, look.told_by_statement(shape.d), look.gentle).w[0]
    except Exception:  # pylint: disable=broad-except
        o = np.full((shape.sq, shape.skv), np.nan)
    if not (o[empty] == 0).all() or look.lse:
        look.fields.append("empty_row = unspecified")
        look.yours.append("rows that see no key are not defined")


def find_lse(look, weights, seen, fit, told):
    """Whether the second result is an lse, and its base."""
    look.lse, look.beside = None, ""
    stranger, returned = look.found.stranger, look.found.returned
    if len(returned) < 2:
        return
    rows, keys = weights.w.shape[1:]
    shape = look.shape(keys, sq=rows)
    for name in ("lse", "lse_sh") if str(returned[1][1]).endswith("float32") else ():
        stranger.returns = ("o", name)
        try:
            again = measure.weights_of(look.found.asked(), shape, told, look.gentle)
            look.lse = look.lse or measure.lse_base(again, seen, fit)
        except Exception:  # pylint: disable=broad-except
            continue
        if look.lse:
            return
    stranger.returns = ("o",)
    more = len(returned) - 1
    look.beside = (f"{more} further result{'s' if more > 1 else ''} (no lse in float32 to base e "
                   "or 2)")
