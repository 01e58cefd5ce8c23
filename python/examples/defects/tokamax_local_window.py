"""tokamax, local_window_size with fewer queries than keys: bounds for every key meet
a mask that wants one for every query."""
import jax.numpy as jnp
import tokamax

q, k = jnp.ones((1, 4, 1, 64)), jnp.ones((1, 8, 1, 64))
try:
    o = tokamax.dot_product_attention(q, k, k, local_window_size=(2, 0), implementation="xla")
    print("shape", o.shape, "want", q.shape)
    wrong = o.shape != q.shape
except (TypeError, ValueError) as error:
    print(type(error).__name__, str(error).splitlines()[0])
    wrong = True
raise SystemExit(wrong)
