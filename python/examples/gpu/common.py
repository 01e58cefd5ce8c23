"""What the adapters of torch share: where kernels run, and masks as bounds."""
import torch

import lockstep

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FAR = 1 << 29  # no bound


def refuse(call, *, cap=False, counts=True, wide=False):
    """Skips what the kernel does not have: softcaps, sinks, segments and counts, dv != d."""
    if "sink" in call.inputs or (cap and call.softcap is not None):
        raise lockstep.Unsupported("sinks or softcaps")
    if counts and ("q_seg" in call.inputs or (call.valid_q != call.sq).any()
                   or (call.valid_kv != call.skv).any()):
        raise lockstep.Unsupported("segments or counts")
    if wide and (call.d != call.dv or call.d % 8 or call.d > 256):
        raise lockstep.Unsupported("widths that differ, are no multiple of 8, or above 256")


def bounds(call):
    """(left, right): a key is seen from `left` behind its query to `right` ahead of it."""
    if len(call.masks) > 1:
        raise lockstep.Unsupported("masks that differ by head")
    tree, left, right = call.masks[0], FAR, FAR
    for term in tree["terms"] if tree["kind"] == "and" else [tree]:
        if term["kind"] == "causal":
            right = min(right, 0)
        elif term["kind"] == "window":
            left = left if term["left"] is None else min(left, term["left"])
            right = right if term["right"] is None else min(right, term["right"])
        elif term["kind"] != "full":
            raise lockstep.Unsupported("masks other than causal ones and windows")
    return left, right


def dense(*tensors):
    """Channels side by side, away from the call's own memory where that has gaps."""
    return [x.contiguous() for x in tensors]


def repeated(call, *tensors):
    return [x.repeat_interleave(call.hq // call.hkv, 1) for x in tensors]
