"""mamba3-jax: the SISO forward of its mixer, which is told what it would project. Its
MIMO forward makes dt and a itself, so that nothing can be handed to it."""
from types import SimpleNamespace

import jax
import jax.numpy as jnp
from mamba3_jax.modeling import Mamba3Mixer

import lockstep

F32 = "base = scan-f32\nname = mamba3-jax-f32\nftz = yes\n"
TURN = 2 * jnp.pi


class Handed:
    """A product, or a repetition, that is known already."""

    def __init__(self, value):
        self.value = value

    def __mul__(self, _):
        return self.value

    def __getitem__(self, _):
        return self.value


def scan(q, k, v, call):
    if call.n % 2:
        raise lockstep.Unsupported("an odd state, which it cannot pair")
    if call.variant != "siso" or call.gate or not call.s or call.norm_epsilon is not None:
        raise lockstep.Unsupported("MIMO, gates, norms, no angles")
    got, time = call.inputs.get, lambda x: jnp.moveaxis(x, 1, 2)
    none = jnp.zeros((call.h, 1, call.n))
    heads = [jnp.repeat(x[:, :, 0], call.h // call.g, 2) + got(bias, none)[:, 0]
             for x, bias in ((k, "bk"), (q, "bq"))]
    given = (v, v, *heads, Handed(time(call.a)), time(call.dt),
             jax.nn.sigmoid(time(call.tau)), Handed(call.vartheta))
    mixer = SimpleNamespace(
        is_mimo=False, num_heads=call.h, num_rope_angles=call.s, chunk_size=64,
        D=got("d", jnp.zeros(call.h)), is_outproj_norm=True, norm=lambda y, residual: y,
        out_proj=lambda y: y, _project=lambda x: given, _preprocess=lambda *x: x)
    carry = None
    if call.carry_in:
        carry = (call.init_theta * TURN, call.init_h, call.init_k[:, :1], call.init_v)
    y, (theta, h, key, value) = Mamba3Mixer.__call__(
        mixer, v[..., 0], carry, None)
    return y.reshape(call.b, call.t, 1, call.h, call.p), theta / TURN, h, key, value


@lockstep.kernel(op="mamba3_scan", framework="jax", profile=F32, lanes=["f32"])
def siso_f32(q, k, v, *, call):
    if call.runs != "rows" and (call.run_count > 1 or call.b > 1):
        raise lockstep.Unsupported("packed runs, of which it has no carries")
    return scan(q, k, v, call)
