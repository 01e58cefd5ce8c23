"""The numerics contract of attention's gradients and of merges, bit for bit: N18 and N23
of docs/numerics.md in NumPy, from the text alone."""

import numpy as np

from contract_bits import (EXP2, F32, LN2, LOG2E, NAN, chain, finish, fma, horner, log2_parts,
                           narrow, tanh)


# --- N14's functions of the full range. ---


def exp2(x):
    """2^x: g 2^n, rounded once where it is subnormal."""
    x = np.clip(F32(x), F32(-151), F32(129))
    n = np.rint(x)
    power = np.nan_to_num(n).astype(np.int64)
    with np.errstate(all="ignore"):
        return F32(np.ldexp(np.float64(horner(EXP2, F32(x - n))), power)) + 0 * x


# --- N18: gradients, of queries [b, hq, sq] and keys [b, hkv, skv]. ---


def gradients(problem, t, mask):
    """dq, dk, dv and dsink; t: arrays by name, mask [b, hq, sq, skv]."""
    case = problem.case
    group, cap = case.hq // case.hkv, case.cap
    scale = F32(case.scale)
    lane = "f32" if problem.grad_f32 else case.lane
    dq = np.zeros((case.b, case.hq, case.sq, case.d), F32)
    dk = np.zeros((case.b, case.hkv, case.skv, case.d), F32)
    dv = np.zeros((case.b, case.hkv, case.skv, case.dv), F32)
    dsink = np.zeros(case.hq, F32)
    with np.errstate(all="ignore"):
        for b, h, i in np.ndindex(case.b, case.hq, case.sq):
            g, keys = h // group, np.flatnonzero(mask[b, h, i])
            lse = t["lse"][b, h, i]
            if lse == -np.inf:
                continue
            d_o, low = t["do"][b, h, i], F32(lse * F32(LOG2E))
            delta = F32(0)
            if len(keys) or problem.reads("delta_of_rows_without_keys"):
                delta = chain(zip(d_o, t["o"][b, h, i]))
            if "dlse" in t:
                delta = F32(delta - t["dlse"][b, h, i])
            if "sink" in t:
                s = exp2(F32(F32(t["sink"][h] * F32(LOG2E)) - low))
                s = s if lse < np.inf else NAN
                dsink[h] = fma(-s, delta, dsink[h])
            for j in keys:
                q, k = t["q"][b, h, i], t["k"][b, g, j]
                dot, slope = chain(zip(q, k)), None
                if cap is None:
                    u = F32(dot * F32(case.scale * LOG2E))
                else:
                    y = tanh(F32(dot * F32(case.scale / cap)))
                    u, slope = F32(F32(cap * LOG2E) * y), fma(-y, y, F32(1))
                x = F32(u - low)
                p = F32(0) if x < -126 else exp2(x)
                p = p if lse < np.inf else NAN
                ds = F32(p * F32(chain(zip(d_o, t["v"][b, g, j])) - delta))
                if slope is not None:
                    ds = F32(ds * slope)
                if np.abs(ds) < 2.0 ** -126 and not problem.reads("subnormal_ds"):
                    ds = F32(0)
                p, ds = narrow(problem, p), narrow(problem, ds)
                dq[b, h, i] = fma(ds, k, dq[b, h, i])
                dk[b, g, j] = fma(ds, q, dk[b, g, j])
                dv[b, g, j] = fma(p, d_o, dv[b, g, j])
        return {"dq": finish(F32(dq * scale), lane), "dk": finish(F32(dk * scale), lane),
                "dv": finish(dv, lane), "dsink": finish(dsink, "f32")}


# --- N23: a merge of parts. ---


def merged_row(o, lse, base, lane, misread=()):
    """(o, lse) of one row: o [parts, dv], lse [parts]."""
    width = o.shape[1]
    if any(not x < np.inf for x in lse):
        return np.full(width, NAN), NAN
    seen = [s for s in range(len(lse)) if lse[s] != -np.inf]
    if not seen:
        return np.zeros(width, F32), F32(-np.inf)
    m, total, acc = max(lse[s] for s in seen), F32(0), np.zeros(width, F32)
    with np.errstate(all="ignore"):
        for s in seen:
            d = F32(lse[s] - m)
            if base == "e":
                d = F32(d * F32(LOG2E))
            w = exp2(d)
            if w == 0 and "light_parts_are_left_out" in misread:
                continue
            total, acc = F32(total + w), fma(w, o[s], acc)
        k, log = log2_parts(total)
        log = F32(k + log)
        if base == "e":
            log = F32(log * F32(LN2))
        return finish(F32(acc / total), lane), F32(m + log) + F32(0)
