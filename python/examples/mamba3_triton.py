"""mamba-ssm's Mamba-3 SISO kernels in Triton, under Triton's interpreter on the CPU."""
import torch
from mamba3_triton_modules import angles, siso

import lockstep

F32 = """base = scan-f32
name = mamba3-siso-triton-f32
scan.chunk = 64
"""
BF16 = "base = siso-bf16-a32\nname = mamba3-siso-triton-bf16\n"
TURN = 2 * torch.pi


def scan(q, k, v, call):
    if call.variant != "siso" or call.runs == "segments" or call.s % 2 or not call.s \
            or call.norm_epsilon is not None:
        raise lockstep.Unsupported("MIMO, segments, norms, an odd number of angles or none")
    if call.n * q.element_size() % 16 or call.p * q.element_size() % 16:
        raise lockstep.Unsupported("rows of no multiple of 16 bytes")
    got = call.inputs.get
    none = torch.zeros(call.h, 1, call.n)
    carry = [got(f"init_{name}") for name in ("theta", "h", "k", "v")]
    states = None if carry[0] is None else (carry[1], carry[2][:, 0], carry[3])
    theta, last = angles.angle_dt_fwd(  # radians; a carry is in turns
        call.vartheta.float(), call.dt, None if states is None else carry[0] * TURN,
        return_output_state=True, cu_seqlens=got("cu_seqlens"))
    # Its TMA descriptors want a base on 16 bytes.
    aligned = (x.clone() for x in (q[:, :, 0], k[:, :, 0], v))
    z = got("z").clone() if call.gate else None
    out = siso.mamba3_siso_fwd(
        *aligned, call.a, call.dt, call.tau, got("bq", none)[:, 0],
        got("bk", none)[:, 0], theta, got("d"), z, states, return_final_states=True,
        cu_seqlens=got("cu_seqlens"))
    h, key, value = out[-1]
    return out[0][:, :, None], last / TURN, h, key[:, None], value.float().clone()


@lockstep.kernel(op="mamba3_scan", framework="torch", profile=F32, lanes=["f32"])
def siso_f32(q, k, v, *, call):
    return scan(q, k, v, call)


@lockstep.kernel(op="mamba3_scan", framework="torch", profile=BF16, lanes=["bf16"])
def siso_bf16(q, k, v, *, call):
    return scan(q, k, v, call)
