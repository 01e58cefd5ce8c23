"""tokamax's splash attention: a tile of queries that sees no key is in no list, so that its
output is what lay in the memory; here the interpreter's NaN."""
import jax.numpy as jnp
import numpy as np
from tokamax._src.ops.experimental.tpu.splash_attention import splash_attention_kernel as splash

seen = np.ones((256, 128), bool)
seen[128:] = False
config = splash.SplashConfig(block_q=128, block_kv=128, interpret=True)
kernel = splash.make_splash_mha_single_device(seen, config=config)
q, k = jnp.ones((1, 256, 128)), jnp.ones((1, 128, 128))
o = np.asarray(kernel(q, k, k))[0, :, 0]
lists = kernel.fwd_mask_info
print("tiles of queries in the list:", lists.active_rows.tolist(), "of [0, 1]")
print("o of a query in tile 0:", o[0], " in tile 1:", o[128], "want 0")
raise SystemExit(bool(o[128] != 0))
