"""ggml_flash_attn_ext on the CPU, softcap: keys that only pad the last tile are set to -inf
before the cap, which makes -cap of it: they count. Seen without a mask, from 64 queries on."""
import ctypes
import sys

import numpy as np

sys.path.insert(0, __file__.rsplit("/", 2)[0])
from ggml_attention import ggml, tensor

n, keys, d = 64, 65, 64
wrong = False
for cap in (0.0, 1.0, 30.0):
    context = ggml.ggml_init(ggml.ggml_init_params(mem_size=64 << 20, mem_buffer=None,
                                                   no_alloc=False))
    values = np.zeros((1, 1, keys, d), np.float32)
    values[0, 0, -1] = keys
    q, k, v = (tensor(context, x) for x in (np.zeros((1, 1, n, d), np.float32),
                                            0 * values, values))
    o = ggml.ggml_flash_attn_ext(context, q, k, v, None, 1.0, 0.0, cap)
    graph = ggml.ggml_new_graph(context)
    ggml.ggml_build_forward_expand(graph, o)
    ggml.ggml_graph_compute_with_ctx(context, graph, 1)
    first = ctypes.cast(ggml.ggml_get_data(o), ctypes.POINTER(ctypes.c_float))[0]
    print(f"cap={cap}: o[0] = {first:.6f}, want 1: all scores are 0, the values' mean is 1")
    wrong |= abs(first - 1) > 1e-3
raise SystemExit(wrong)
