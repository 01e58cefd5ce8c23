"""ggml_flash_attn_ext on the CPU, through ggml-python. It has no lse."""
import ctypes

import ggml
import ml_dtypes
import numpy as np

import lockstep

F32 = """base = cpu-f32
name = ggml-f32
cap_div = folded
lse = none
masked_nan_safe = no
nan = unspecified
"""
BF16 = F32.replace("ggml-f32", "ggml-bf16") + "lane = bf16\n"
# From 64 queries on it multiplies tiles in f32. With fewer, and values in f16, the sums over
# the keys are f16, too.
TILED_F16 = F32.replace("ggml-f32", "ggml-f16-tiled") + "lane = f16\n"
F16 = TILED_F16.replace("-tiled", "") + "acc_pv = f16\nstate = f16\n"
TYPES = {np.dtype(np.float32): ggml.GGML_TYPE_F32, np.dtype(np.float16): ggml.GGML_TYPE_F16,
         np.dtype(ml_dtypes.bfloat16): ggml.GGML_TYPE_BF16}


def tensor(context, array):
    """Of four axes, the last of which is ggml's first, or of one."""
    array = np.ascontiguousarray(array)
    sizes = list(array.shape[::-1]) + [1] * (4 - array.ndim)
    made = ggml.ggml_new_tensor_4d(context, TYPES[array.dtype], *sizes)
    ctypes.memmove(ggml.ggml_get_data(made), array.ctypes.data, array.nbytes)
    return made


def attend(q, k, v, call):
    mask = np.asarray(call.mask_dense) != 0
    sizes = (q, k, v, mask)
    memory = 16 * sum(x.size for x in sizes) + 8 * call.b * call.hq * call.sq * call.dv + (16 << 20)
    context = ggml.ggml_init(ggml.ggml_init_params(mem_size=memory, mem_buffer=None,
                                                   no_alloc=False))
    bias = None if mask.all() else tensor(
        context, np.where(mask, np.float16(0), np.float16(-np.inf)))
    made = ggml.ggml_flash_attn_ext(
        context, tensor(context, q.astype(np.float32)), tensor(context, k),
        tensor(context, v), bias, call.scale, 0.0, call.softcap or 0.0)
    if "sink" in call.inputs:
        ggml.ggml_flash_attn_ext_add_sinks(made, tensor(context, call.sink))
    graph = ggml.ggml_new_graph(context)
    ggml.ggml_build_forward_expand(graph, made)
    ggml.ggml_graph_compute_with_ctx(context, graph, 1)
    o = np.empty((call.b, call.sq, call.hq, call.dv), np.float32)
    ctypes.memmove(o.ctypes.data, ggml.ggml_get_data(made), o.nbytes)
    ggml.ggml_free(context)
    return np.ascontiguousarray(o.swapaxes(1, 2)).astype(q.dtype)


@lockstep.kernel(profile=F32, wants=["mask.dense"], lanes=["f32"], lacks=["lse"])
def attend_f32(q, k, v, *, call):
    return attend(q, k, v, call)


@lockstep.kernel(profile=BF16, wants=["mask.dense"], lanes=["bf16"], lacks=["lse"])
def attend_bf16(q, k, v, *, call):
    return attend(q, k, v, call)


@lockstep.kernel(profile=F16, wants=["mask.dense"], lanes=["f16"], lacks=["lse"])
def attend_f16(q, k, v, *, call):
    return attend(q, k, v, call)


@lockstep.kernel(profile=TILED_F16, wants=["mask.dense"], lanes=["f16"], lacks=["lse"])
def attend_f16_tiled(q, k, v, *, call):
    if call.sq < 64:
        raise lockstep.Unsupported("fewer than 64 queries")
    return attend(q, k, v, call)
