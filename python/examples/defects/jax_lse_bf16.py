"""jax.nn.dot_product_attention, bf16: the residual is rounded to bf16, 2^-9 of a
logarithm that others need to merge parts."""
import jax
import jax.numpy as jnp

x = jnp.ones((1, 300, 1, 64), jnp.bfloat16)
_, lse = jax.nn.dot_product_attention(x, x, x, return_residual=True, implementation="xla")
want = 8.0 + jnp.log(300.0)
print("lse is", lse.dtype, float(lse.ravel()[0]), "want", float(want))
raise SystemExit(lse.dtype == jnp.bfloat16)
