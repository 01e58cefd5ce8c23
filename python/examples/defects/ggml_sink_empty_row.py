"""ggml_flash_attn_ext on the CPU, sinks: a row that sees no key, and whose sink is -inf, is
NaN. Without a sink such a row is 0."""
import ctypes
import sys

import numpy as np

sys.path.insert(0, __file__.rsplit("/", 2)[0])
from ggml_attention import ggml, tensor

wrong = False
for sink in (None, 0.0, -np.inf):
    context = ggml.ggml_init(ggml.ggml_init_params(mem_size=16 << 20, mem_buffer=None,
                                                   no_alloc=False))
    q, k, v = (tensor(context, np.ones((1, 1, 1, 1), np.float32)) for _ in range(3))
    hidden = tensor(context, np.full((1, 1, 1, 1), -np.inf, np.float16))
    o = ggml.ggml_flash_attn_ext(context, q, k, v, hidden, 1.0, 0.0, 0.0)
    if sink is not None:
        ggml.ggml_flash_attn_ext_add_sinks(o, tensor(context, np.float32([sink])))
    graph = ggml.ggml_new_graph(context)
    ggml.ggml_build_forward_expand(graph, o)
    ggml.ggml_graph_compute_with_ctx(context, graph, 1)
    first = ctypes.cast(ggml.ggml_get_data(o), ctypes.POINTER(ctypes.c_float))[0]
    print(f"sink={sink}: o = {first}, want 0: no key is visible")
    wrong |= first != 0
raise SystemExit(wrong)
