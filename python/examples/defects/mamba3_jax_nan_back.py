"""mamba3-jax: a NaN in a late token reaches the tokens before it in its chunk: masked
weights are multiplied by 0, not left out."""
import inspect

import jax
import jax.numpy as jnp
from flax import nnx
from mamba3_jax import modeling

config = modeling.Mamba3Config.tiny() if hasattr(modeling.Mamba3Config, "tiny") else modeling.Mamba3Config()
mixer = modeling.Mamba3Mixer(config, 0, rngs=nnx.Rngs(0)) if "layer_idx" in str(
    inspect.signature(modeling.Mamba3Mixer.__init__)) else modeling.Mamba3Mixer(config, rngs=nnx.Rngs(0))
x = jax.random.normal(jax.random.key(0), (1, 8, config.hidden_size))
late, _ = mixer(x.at[:, 7].set(jnp.nan))
print("NaN before the token that is NaN:", bool(jnp.isnan(late[:, :7]).any()))
raise SystemExit(bool(jnp.isnan(late[:, :7]).any()))
