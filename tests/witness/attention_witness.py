#!/usr/bin/env python3
"""Third opinion on softcap attention: float64, textbook, own mask evaluation.

  attention_witness.py DIR      (written by `lockstep export CASE --out DIR`)

Reads inputs.safetensors and expected.safetensors, computes o and lse from
the case line in the metadata, and compares under an a-priori bound.

Passes (exit 0) if and only if every element of o and lse is what the
mathematics allows: NaN where it must be NaN (canonical bits), the right
infinity where it must be infinite, |x - exact| <= bound elsewhere, never -0;
and at most a tenth of the bounds are too wide to prove anything.
Exit 1 otherwise, 2 when the directory cannot be read or judged.

The bound, for f32 arithmetic (u = 2^-24, gamma_n = n u / (1 - n u)):

  eta_j    error of the logit u_j in natural units: accumulation
           |scale| gamma_D sum|q k| and 3u|z|, damped by the slope of the cap
           where it is least damped, plus cap|t|(2 ulp tanh + 2 roundings);
           plus 2 ulp of exp2.  For a sink: 2u|sink| plus exp2.
  weights  O' - O = sum P_j (e^d_j - 1)(V_j - O) / sum P_j e^d_j with
           |d_j| <= eta_j, for sum P_j (V_j - O) = 0; a sink is a key with
           V = 0.
  sums     gamma_(N+1) sum P|V| for the accumulator, the row sum's gamma, the
           division; 2^-8 sum P|V| when P is rounded to bf16, 2^-11 to f16's
           bits.
  flushes  order=amx takes subnormal q, k and v for zeros, and so does this
           page; each of its operations may flush 2^-126 of the result.
  output   2^-8 |O| when o is bf16; 2^-11 |O| and 2^-24 when it is f16, which
           ends at 65504.
  lse      log of the weight factor, the row sum's gamma, log2, 3 roundings.
  scales   of fp8: the numbers are the bytes' times their scales, in float64. Each
           product of a score, a weight or an output with a scale is a rounding.
"""

import pathlib
import sys

import numpy as np

import case_language
import safetensors_file
from tally import Tally, compare_row

U32 = 2.0 ** -24
U_OF = {"f32": 0.0, "bf16": 2.0 ** -8, "f16": 2.0 ** -11}
SMALLEST = {"bf16": 2.0 ** -133, "f16": 2.0 ** -24}
ULP2 = 2.0 ** -22          # two ulp of f32, relative
TINY = 2.0 ** -148         # two smallest f32 subnormals
FLUSHED = 2.0 ** -126      # below it order=amx has zeros
LOG2E = 1.4426950408889634
DOMAIN = 2.0 ** 126        # beyond it f32 sums may overflow in some orders
WEAK_SHARE = 0.1


class Undecidable(Exception):
    """The problem is outside what this witness can judge."""


def operands(case, x):
    """x in float64 as the products take it: order=amx flushes operands."""
    x = x.astype(np.float64)
    if case.order == "amx":
        x = np.where(np.abs(x) < FLUSHED, np.copysign(0.0, x), x)
    return x


def scaled(case, tensors, name):
    """q, k or v in float64, times its scales."""
    x = operands(case, tensors[name].values)
    if name not in case.scales:
        return x
    own = case_language.spread_scales(case.scales[name],
                                      tensors[name + "_scale"].values.astype(np.float64),
                                      *x.shape[1:3])
    return x * own[..., None]


def lost(case):
    """What one operation of a sum of products may lose to underflow."""
    return 2.0 * FLUSHED if case.order == "amx" else TINY


def gamma(n):
    return n * U32 / (1.0 - n * U32)


# --- Exact values and bounds of one batch row and head. ---


def logits(case, q, k, mask):
    """u [Sq, Skv] and its error eta, in natural units; q, k float64."""
    dot = q @ k.T
    finite_q = np.where(np.isfinite(q), q, 0.0)
    finite_k = np.where(np.isfinite(k), k, 0.0)
    magnitude = np.abs(finite_q) @ np.abs(finite_k).T
    z = dot * case.scale
    size = np.where(np.isfinite(z), np.abs(z), 0.0)
    if np.any(mask & (magnitude > DOMAIN)):
        raise Undecidable("scores may overflow f32 in some order")
    # The sum of two chains, and its sum with the blocks before, are two more.
    n = case.d + (2 if case.order == "amx" else 0)
    eta = abs(case.scale) * (gamma(n) * magnitude + n * lost(case))
    eta += (3.0 + len(case.scales)) * U32 * size + TINY
    if case.cap is None:
        if np.any(mask & np.isfinite(z) & (size * LOG2E > DOMAIN)):
            raise Undecidable("scaled scores may overflow f32")
        return z, eta + ULP2
    cap = case.cap
    least = np.maximum(size - eta, 0.0) / cap
    slope = 1.0 / np.cosh(np.minimum(least, 300.0)) ** 2
    t = np.tanh(z / cap)
    eta = np.minimum(eta * slope, 2.0 * cap)
    eta += cap * (np.where(np.isfinite(t), np.abs(t), 0.0)
                  * (ULP2 + 2.0 * U32) + TINY)
    return cap * t, eta + ULP2


def uses_fixed_maximum(case, sink):
    """N9: with a small cap the weights are 2^u itself, without a maximum."""
    if case.cap is None or case.cap * LOG2E > 80.0:
        return False
    return sink is None or np.rint(sink * LOG2E) <= 80.0


def nonfinite_columns(v, weights_zero, weights_unsure):
    """Class of sum p v where v holds NaN or inf: IEEE products and sums.

    Returns per column: 'f' finite, 'n' NaN, '+', '-', '?' (NaN or inf).
    """
    out = np.full(v.shape[1], "f")
    for c in np.flatnonzero(~np.isfinite(v).all(axis=0)):
        bad = ~np.isfinite(v[:, c])
        column = v[bad, c]
        signs = set(np.sign(column[~np.isnan(column)]))
        if np.isnan(column).any() or len(signs) > 1 or weights_zero[bad].any():
            out[c] = "n"
        elif weights_unsure[bad].any():
            out[c] = "?"
        else:
            out[c] = "+" if signs == {1.0} else "-"
    return out


def row_weights(u, eta, sink):
    """P, P e^eta - P, log factors up and down, lse, over keys then sink."""
    if sink is not None:
        u = np.append(u, sink)
        eta = np.append(eta, 2.0 * U32 * abs(sink) + ULP2)
    top = u.max()
    lse = top + np.log(np.exp(u - top).sum())
    p = np.exp(u - lse)
    grown = np.exp(np.minimum(u - lse + eta, 700.0))
    shrunk = np.exp(u - lse - eta)
    return p, grown, shrunk, lse


def finite_row(case, u, eta, v, sink, u_weight):
    """(o, bound_o, lse, bound_lse) of a row with a finite logit."""
    if "v" in case.scales:
        u_weight += U32
    p, grown, shrunk, lse = row_weights(u, eta, sink)
    n = len(u)
    values = np.where(np.isfinite(v), v, 0.0)
    if sink is not None:
        values = np.vstack([values, np.zeros((1, v.shape[1]))])
    o = p @ values
    most, least = grown.sum(), shrunk.sum()
    sums = gamma(case.skv // 16 + 7)
    spread = (grown - p) @ np.abs(values - o) / least
    size = (grown @ np.abs(values)) / least
    largest = np.abs(values).max(axis=0)
    bound = spread + (gamma(n + 1) + u_weight) * size
    bound += (sums + 2.0 * U32) * (np.abs(o) + spread)
    bound += n * largest * 2.0 ** -92        # weights flushed to +0 (N9)
    total = np.exp2(min(lse * LOG2E, 80.0) if uses_fixed_maximum(case, sink)
                    else -34.0)
    bound += (n + 1) * lost(case) / total + TINY   # subnormal accumulator, o
    if case.kvlane:  # a subnormal weight times a byte, an accumulator times a scale
        bound += 2.0 ** 16 * (n + 1) * TINY / total * max(1.0, case.largest_v_scale)
    if case.lane != "f32":
        bound += U_OF[case.lane] * (np.abs(o) + bound) + SMALLEST[case.lane]
    bound_lse = max(np.log(most), -np.log(least)) + sums
    bound_lse += 4.0 * U32 * abs(lse) + ULP2 + TINY
    return o, bound, lse, bound_lse


def judge_row(case, u, eta, v, sink, u_weight):
    """Expected row over its visible keys: classes, values, bounds.

    Returns (classes [Dv], o [Dv], bound [Dv], class_lse, lse, bound_lse).
    """
    width = v.shape[1]
    zeros = np.zeros(width)

    def special(kind, kind_lse, lse=0.0, bound=0.0):
        return np.full(width, kind), zeros, zeros, kind_lse, lse, bound

    everything = u if sink is None else np.append(u, sink)
    if np.isnan(everything).any() or (everything == np.inf).any():
        return special("n", "n")
    if len(u) == 0 and (sink is None or sink == -np.inf):
        return special("0", "-")
    if (everything == -np.inf).all():
        return special("n", "n")
    if sink == -np.inf:
        sink = None
    bound_sink = 0.0
    if sink is not None:
        bound_sink = 6.0 * U32 * abs(sink) + 2.0 * ULP2 + TINY
    if len(u) == 0:
        return special("0", "f", sink, bound_sink)
    steps = np.rint(u * LOG2E)
    # N9: non-finite sums are redone with weights that are +0 93 below the top,
    # on either path; +0 * inf is NaN. Near the edge either class will do.
    top = max(steps.max(), -np.inf if sink is None else np.rint(sink * LOG2E))
    slack = eta * LOG2E + 1.0
    zero = steps - top < -93.0 - slack
    unsure = ~zero & (steps - top < -93.0 + slack)
    classes = nonfinite_columns(v, zero, unsure)
    if (u == -np.inf).all():
        classes[classes == "f"] = "0"
        return classes, zeros, zeros, "f", sink, bound_sink
    eta = np.where(np.isfinite(u), eta, 0.0)
    o, bound, lse, bound_lse = finite_row(case, u, eta, v, sink, u_weight)
    return classes, o, bound, "f", lse, bound_lse


# --- The directory. ---


def stored_masks(case, tensors):
    """Stored masks by number, and the shape each term promises."""
    stored = {}
    for tree in case.masks.values():
        for _, index, kind, rest in case_language.stored_terms(tree):
            name = f"dense_mask_{index}"
            case_language.require(name in tensors, f"{name} is missing")
            mask = tensors[name].bits
            if kind == "blocks" and ":file:" in rest:
                rows, cols = (int(n) for n in rest.split(":")[0].split("x"))
                case_language.require(
                    mask.ndim == 4 and mask.shape[2:] == (
                        -(-case.sq // rows), -(-case.skv // cols)),
                    f"{name}: shape {mask.shape}")
                grown = mask.repeat(rows, axis=2).repeat(cols, axis=3)
                mask = grown[..., :case.sq, :case.skv]
            case_language.require(
                mask.ndim == 4 and mask.shape[2:] == (case.sq, case.skv)
                and mask.shape[0] in (1, case.b)
                and mask.shape[1] in (1, case.hq) and mask.max(initial=0) <= 1,
                f"{name}: shape {mask.shape} or values")
            if kind == "blocks":
                rows, cols = (int(n) for n in rest.split(":")[0].split("x"))
                corner = mask[..., ::rows, ::cols]
                grown = corner.repeat(rows, axis=2).repeat(cols, axis=3)
                case_language.require(
                    np.array_equal(grown[..., :case.sq, :case.skv], mask),
                    f"{name} is not constant on its blocks")
            stored[index] = case_language.of_lists(case, kind, name, mask, tensors)
    return stored


def check_inputs(case, tensors):
    """The exported side inputs must say what the case line says."""
    shapes = {"q": (case.b, case.hq, case.sq, case.d),
              "k": (case.b, case.hkv, case.skv, case.d),
              "v": (case.b, case.hkv, case.skv, case.dv)}
    for name, shape in shapes.items():
        found = tensors[name].bits.shape
        case_language.require(found == shape, f"{name}: shape {found}")
        fp8 = case.qlane if name == "q" else case.kvlane
        lane = "F8_" + fp8.upper() if fp8 else case.lane.upper()
        case_language.require(tensors[name].dtype == lane,
                              f"{name}: type {tensors[name].dtype}")
        case_language.require((name + "_scale" in tensors) == (name in case.scales),
                              f"{name}_scale: in one of case and file only")
    for name in ("q_seg", "kv_seg"):
        case_language.require((name in tensors) == (case.q_seg is not None),
                              f"{name}: in one of case and file only")
    for name in ("q_seg", "kv_seg"):
        if getattr(case, name) == "file":
            setattr(case, name, list(tensors[name].values))
    if case.q_seg is not None:
        for b in range(case.b):
            same = case.q_seg[b][:, None] == case.kv_seg[b][None, :]
            ours = (tensors["q_seg"].values[b][:, None]
                    == tensors["kv_seg"].values[b][None, :])
            case_language.require(np.array_equal(same, ours),
                                  "segment ids differ from the case line")
    for name in ("valid_q", "valid_kv"):
        if name in tensors:
            case_language.require(
                tensors[name].values.tolist() == getattr(case, name),
                f"{name} differs from the case line")
    case_language.require(("sink" in tensors) == case.sink,
                          "sink: in one of case and file only")


def judge(case, tensors, expected):
    """Compares everything; returns the Tally."""
    check_inputs(case, tensors)
    stored = stored_masks(case, tensors)
    o, lse = expected["o"], expected["lse"]
    case_language.require(
        o.bits.shape == (case.b, case.hq, case.sq, case.dv)
        and lse.bits.shape == (case.b, case.hq, case.sq), "shape of o or lse")
    case_language.require(o.dtype == case.lane.upper() and lse.dtype == "F32",
                          "type of o or lse")
    q, k, v = (scaled(case, tensors, n) for n in ("q", "k", "v"))
    case.largest_v_scale = float(tensors["v_scale"].values.max()) if "v" in case.scales else 1.0
    u_weight = U_OF[case.p]
    group = case.hq // case.hkv
    tally = Tally()
    for b in range(case.b):
        for h in range(case.hq):
            sink = float(tensors["sink"].values[h]) if case.sink else None
            mask = case_language.visibility(case, b, h, stored)
            u, eta = logits(case, q[b, h], k[b, h // group], mask)
            for i in range(case.sq):
                seen = np.flatnonzero(mask[i])
                values = v[b, h // group][seen]
                row = judge_row(case, u[i, seen], eta[i, seen], values, sink,
                                u_weight)
                finite = np.where(np.isfinite(values), np.abs(values), 0.0)
                compare_row(tally, row, f"{b},{h},{i}",
                            (o.values[b, h, i], o.bits[b, h, i], o.dtype),
                            (lse.values[b, h, i], lse.bits[b, h, i], "F32"),
                            finite.max(axis=0, initial=0.0) + 2.0 ** -100)
    return tally


def judge_directory(folder):
    """(Tally, case line) of an export directory."""
    folder = pathlib.Path(folder)
    tensors, metadata = safetensors_file.read(folder / "inputs.safetensors")
    expected, _ = safetensors_file.read(folder / "expected.safetensors")
    case = case_language.parse_case(metadata["case"])
    with np.errstate(all="ignore"):
        return judge(case, tensors, expected), metadata["case"]


def passes(tally):
    total = tally.passed + tally.failed
    return (tally.failed == 0 and total > 0
            and tally.weak <= WEAK_SHARE * total)


def summary(tally):
    return (f"{tally.passed} elements inside, {tally.failed} outside, "
            f"{tally.weak} weak bounds, largest error/bound "
            f"{tally.worst:.3f}")


def main():
    if len(sys.argv) != 2:
        print("usage: attention_witness.py EXPORT_DIR", file=sys.stderr)
        return 2
    try:
        tally, line = judge_directory(sys.argv[1])
    except (OSError, KeyError, ValueError, Undecidable,
            case_language.CaseError, safetensors_file.FormatError) as error:
        print(f"{sys.argv[1]}: {type(error).__name__}: {error}",
              file=sys.stderr)
        return 2
    for message in tally.messages:
        print(message)
    print(f"{summary(tally)}: {line}")
    return 0 if passes(tally) else 1


if __name__ == "__main__":
    sys.exit(main())
