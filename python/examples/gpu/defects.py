"""What the judge found in libraries on an H100, without Lockstep: defects.py [NAME]..."""
import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

aten = torch.ops.aten


def random(*shape, dtype=torch.bfloat16, grad=False):
    return torch.randn(*shape, dtype=dtype, device="cuda").requires_grad_(grad)


def cudnn_repeat():
    """cuDNN through torch, one query and a long cache: other bits when run again."""
    for keys in (1024, 4096, 8192):
        q, k, v = random(1, 8, 1, 64), random(1, 8, keys, 64), random(1, 8, keys, 64)
        runs = [aten._scaled_dot_product_cudnn_attention(q, k, v, None, True)[:2] for _ in range(50)]
        print(f"  {keys} keys: {len({o.cpu().float().numpy().tobytes() for o, _ in runs})} different o, "
              f"{len({s.cpu().numpy().tobytes() for _, s in runs})} different lse in 50 runs, cudnn "
              f"{torch.backends.cudnn.version()}")
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        runs = {F.scaled_dot_product_attention(q, k, v).cpu().float().numpy().tobytes() for _ in range(50)}
    torch.use_deterministic_algorithms(True)
    with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
        more = {F.scaled_dot_product_attention(q, k, v).cpu().float().numpy().tobytes() for _ in range(50)}
    torch.use_deterministic_algorithms(False)
    print(f"  F.scaled_dot_product_attention: {len(runs)} different o, deterministic algorithms asked: {len(more)}")


def empty_rows():
    """A query that sees no key: o and lse of each backend."""
    q, k, v = (random(1, 1, 64, 64) for _ in range(3))
    bias = torch.zeros(1, 1, 64, 64, dtype=q.dtype, device="cuda")
    bias[..., :32, :] = float("-inf")
    o, s = aten._scaled_dot_product_efficient_attention(q, k, v, bias, True)[:2]
    print("  efficient: o", o[0, 0, 0, :2].tolist(), "lse", s.flatten()[0].item())
    o, s = aten._scaled_dot_product_cudnn_attention(q, k, v, bias, True)[:2]
    print("  cudnn:     o", o[0, 0, 0, :2].tolist(), "lse", s.flatten()[0].item(), "mean of V", v[0, 0].float().mean(0)[:2].tolist())
    for backend in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION):
        with sdpa_kernel(backend):
            print("  F.sdpa", backend.name, F.scaled_dot_product_attention(q, k, v, bias == 0)[0, 0, 0, :2].tolist())


def flash_backward():
    """Flash attention's backward pass: dq when run again."""
    for n, exact in ((128, False), (1024, False), (4096, False), (4096, True)):
        torch.use_deterministic_algorithms(exact)
        q, k, v = (random(1, 4, n, 128, grad=True) for _ in range(3))
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            o = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        do = random(*o.shape)
        got = {torch.autograd.grad(o, q, do, retain_graph=True)[0].cpu().float().numpy().tobytes() for _ in range(20)}
        print(f"  {n} tokens, deterministic algorithms {exact}: {len(got)} different dq in 20 runs")
    torch.use_deterministic_algorithms(False)


def flash_window():
    """Flash attention, more queries than keys: a right bound of as many keys as there are is none."""
    q, k = random(1, 16, 1, 8), random(1, 3, 1, 8)
    for right in (1, 2, 3):
        o = aten._flash_attention_forward(q, k, k, None, None, 16, 3, 0.0, False, False,
                                          window_size_left=None, window_size_right=right)[0]
        rows = (o != 0).any(-1).flatten().nonzero().flatten().tolist()
        print(f"  right={right}: rows that see a key {rows}, want {list(range(13 - right, 16))}")


def flash_window_left():
    """The same of no right bound beside a left one: it is then as many keys as there are."""
    q, k = random(1, 3, 1, 8), random(1, 1, 1, 8)
    o = aten._flash_attention_forward(q, k, k, None, None, 3, 1, 0.0, False, False,
                                      window_size_left=0, window_size_right=None)[0]
    print("  rows that see the key", (o != 0).any(-1).flatten().nonzero().flatten().tolist(), "want [0, 1, 2]")


def cudnn_scale():
    """cuDNN through torch's operator, a negative scale: NaN."""
    q, k = random(1, 1, 2, 8), random(1, 1, 1, 8)
    for scale in (0.5, 0.0, -1.0):
        o = aten._scaled_dot_product_cudnn_attention(q, k, k, None, True, scale=scale)[0]
        print(f"  scale {scale}: o {o.flatten()[:2].tolist()}, want {k.flatten()[:2].tolist()}")


def additive_mask():
    """A masked key whose score overflows: -inf is added, and leaves NaN. As on the CPU."""
    q = torch.full((1, 1, 1, 8), 1e30, device="cuda")
    k, v = torch.stack([q * 0, q], 2).reshape(1, 1, 2, 8), torch.ones(1, 1, 2, 8, device="cuda")
    for backend in (SDPBackend.MATH, SDPBackend.EFFICIENT_ATTENTION):
        with sdpa_kernel(backend):
            o = F.scaled_dot_product_attention(q, k, v, torch.tensor([[True, False]], device="cuda"))
            print(" ", backend.name, o.flatten()[0].item(), "want 1")


def mosaic():
    """jax.experimental.pallas.ops.gpu.attention_mgpu says f16 and bf16; bf16 cannot be lowered."""
    import jax.numpy as jnp
    from jax.experimental.pallas.ops.gpu import attention_mgpu as mgpu
    config = mgpu.TuningConfig(block_q=64, block_kv=64, max_concurrent_steps=2)
    for dtype in (jnp.float16, jnp.bfloat16):
        x = jnp.ones((1, 128, 1, 64), dtype)
        try:
            print(" ", dtype.__name__, "o =", float(mgpu.attention(x, x, x, config)[0, 0, 0, 0]), "want 1")
        except Exception as error:
            print(" ", dtype.__name__, type(error).__name__, str(error)[:120])


def tf32():
    """f32 matrix products that are TF32 unless asked otherwise: 1 + 2^-11 times 1."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    a = torch.full((64, 64), 1 + 2**-11, device="cuda")
    eye = torch.eye(64, device="cuda")
    print("  torch.mm", (a @ eye)[0, 0].item() - 1, " jax", float((jnp.asarray(a.cpu().numpy()) @ jnp.eye(64))[0, 0]) - 1,
          " jax highest", float(jnp.matmul(jnp.asarray(a.cpu().numpy()), jnp.eye(64), precision="highest")[0, 0]) - 1, "want", 2**-11)


if __name__ == "__main__":
    for check in (cudnn_repeat, empty_rows, flash_backward, flash_window, flash_window_left, cudnn_scale, additive_mask, mosaic, tf32):
        if len(sys.argv) < 2 or check.__name__ in sys.argv[1:]:
            print(f"{check.__name__}: {check.__doc__}", flush=True)
            try:
                check()
            except Exception as error:
                print("  ", type(error).__name__, str(error)[:300])
