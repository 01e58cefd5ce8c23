"""mamba-ssm's Triton kernels on CUDA: Mamba-3 SISO, and Mamba-2's chunked scan with the decay
of every token given. MAMBA (in TORCH_MAMBA) is where its source lies unpacked."""
import importlib
import os
import sys
import types

import torch
import triton

import lockstep

for name in ("mamba_ssm", "mamba_ssm.ops", "mamba_ssm.utils", "mamba_ssm.ops.triton",
             "mamba_ssm.ops.triton.mamba3"):
    module = sys.modules[name] = types.ModuleType(name)
    module.__path__ = [os.path.join(os.environ["TORCH_MAMBA"], *name.split("."))]
OPS = "mamba_ssm.ops.triton."
angles, siso, cumsum, passing, bmm, chunks = (importlib.import_module(OPS + name) for name in (
    "mamba3.angle_dt", "mamba3.mamba3_siso_fwd", "ssd_chunk_state", "ssd_state_passing",
    "ssd_bmm", "ssd_chunk_scan"))
siso.mamba3_siso_fwd_kernel.configs = siso.mamba3_siso_fwd_kernel.configs[3:4]  # 1 stage, 4 warps
angles.angle_dt_fwd_kernel.configs = angles.angle_dt_fwd_kernel.configs[:1]
for module, name in ((cumsum, "_chunk_state_fwd"), (passing, "_state_passing_fwd"),
                     (bmm, "_bmm_chunk_fwd"), (chunks, "_chunk_scan_fwd")):
    kernel = getattr(module, name + "_kernel")
    kernel.configs = kernel.configs[-1:]  # tuning takes a minute; the last is the smallest
triton.set_allocator(lambda size, alignment, stream: torch.empty(
    size, dtype=torch.int8, device="cuda"))

SISO = "base = siso-bf16-a32\nname = mamba3-siso-h100\nscan.empty_run = unspecified\n"
FAST = "scan.chunk = 64\ntanh_rel = 0x1.1p-11\nexp_rel = 0x1p-17\nscan.sigmoid_rel = 0x1p-17\n" \
    "scan.trig_abs = 0x1p-20\nftz = yes\n"  # as this GPU's functions are
TF32 = "".join(f"scan.{name} = tf32\n" for name in (
    "query", "key", "scaled", "score", "state", "decayed"))
SISO32 = "base = scan-f32\nname = mamba3-siso-f32-h100\nscan.empty_run = unspecified\n" + FAST
SSD = "base = siso-bf16-a32\nname = ssd-h100\nscan.chunk = 64\nftz = yes\n"
SSD32 = "base = scan-f32\nname = ssd-f32-h100\n" + FAST
TURN = 2 * torch.pi


def gpu(x):
    return None if x is None else x.contiguous()


def mamba3(q, k, v, *, call):
    if call.variant != "siso" or call.runs == "segments" or call.s % 2 or not call.s \
            or call.norm_epsilon is not None or call.n % 16 or call.p % 16:
        raise lockstep.Unsupported("MIMO, segments, norms, odd numbers of angles, odd widths")
    got = {name: gpu(x) for name, x in call.inputs.items()}.get
    none = torch.zeros(call.h, 1, call.n, device="cuda")
    carry = [got(f"init_{name}") for name in ("theta", "h", "k", "v")]
    states = None if carry[0] is None else (carry[1], carry[2][:, 0].contiguous(), carry[3])
    theta, last = angles.angle_dt_fwd(
        got("vartheta").float(), got("dt"), None if states is None else carry[0] * TURN,
        return_output_state=True, cu_seqlens=got("cu_seqlens"))
    out = siso.mamba3_siso_fwd(
        *(gpu(x) for x in (q[:, :, 0], k[:, :, 0], v)), got("a"), got("dt"), got("tau"),
        got("bq", none)[:, 0], got("bk", none)[:, 0], theta, got("d"),
        got("z") if call.gate else None, states, return_final_states=True,
        cu_seqlens=got("cu_seqlens"))
    h, key, value = out[-1]
    return out[0][:, :, None], last / TURN, h, key[:, None], value.float()


def ssd(q, k, v, *, call, size=64):
    if call.runs != "rows" and call.run_count != call.b:
        raise lockstep.Unsupported("runs inside a row")
    got = {name: gpu(x) for name, x in call.inputs.items()}.get
    q, k, v, z, d = (got(name) for name in ("q", "k", "v", "z", "d"))
    a, dt = (torch.nn.functional.pad(x, (0, -call.t % size)).unflatten(2, (-1, size))
             for x in (got("a"), got("dt")))
    sums, first = a.cumsum(-1), got("init_h")
    states = cumsum._chunk_state_fwd(k, v, dt, sums).flatten(3)
    states, last = passing._state_passing_fwd(
        states, sums[..., -1], None if first is None else first.flatten(2), out_dtype=q.dtype)
    states, last = (x.unflatten(-1, (call.p, call.n)) for x in (states, last))
    cb = bmm._bmm_chunk_fwd(q, k, size, output_dtype=torch.float32)
    y, _ = chunks._chunk_scan_fwd(cb, v, dt, sums, q, states, D=d, z=z if call.gate else None)
    return y, last


def declared(function, op, profile, lane, name):
    def run(q, k, v, *, call):
        return function(q, k, v, call=call)
    run.__name__ = name
    return lockstep.kernel(op=op, framework="torch", device="cuda", profile=profile,
                           lanes=[lane])(run)


siso_bf16 = declared(mamba3, "mamba3_scan", SISO, "bf16", "siso_bf16")
siso_f32 = declared(mamba3, "mamba3_scan", SISO32, "f32", "siso_f32")
ssd_bf16 = declared(ssd, "ssd_scan", SSD, "bf16", "ssd_bf16")
# The same where Triton's dot is left at TF32, as it is for f32 tensors.
siso_tf32 = declared(mamba3, "mamba3_scan", SISO32 + TF32, "f32", "siso_tf32")
ssd_tf32 = declared(ssd, "ssd_scan", SSD32 + TF32, "f32", "ssd_tf32")
ssd_f32 = declared(ssd, "ssd_scan", SSD32, "f32", "ssd_f32")
