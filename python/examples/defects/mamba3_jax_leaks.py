"""mamba3-jax, packed runs: the state is multiplied by exp(-30) between them, not by 0."""
import inspect

import jax
import jax.numpy as jnp
from flax import nnx
from mamba3_jax import modeling

config = modeling.Mamba3Config.tiny() if hasattr(modeling.Mamba3Config, "tiny") else modeling.Mamba3Config()
mixer = modeling.Mamba3Mixer(config, 0, rngs=nnx.Rngs(0)) if "layer_idx" in str(
    inspect.signature(modeling.Mamba3Mixer.__init__)) else modeling.Mamba3Mixer(config, rngs=nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (1, 8, config.hidden_size))
cu = jnp.array([0, 4, 8])
near, _ = mixer(x, cu_seqlens=cu)
far, _ = mixer(x.at[:, 0].set(jnp.inf), cu_seqlens=cu)
print("NaN in the second run after an infinity in the first:", bool(jnp.isnan(far[:, 4:]).any()))
raise SystemExit(bool(jnp.isnan(far[:, 4:]).any()))
