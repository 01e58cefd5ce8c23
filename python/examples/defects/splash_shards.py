"""JAX splash attention: the tables of a mask without partial tiles, in shards of queries."""
import numpy as np
from jax.experimental.pallas.ops.tpu.splash_attention import (
    splash_attention_mask as masks, splash_attention_mask_info as infos)

wrong = False
for name, seen in (("without partial tiles", np.ones((64, 64), bool)),
                   ("causal", np.tri(64, dtype=bool))):
    mask = masks.MultiHeadMask([masks.NumpyMask(seen)])
    try:
        infos.process_mask(mask, (8, 8), head_shards=1, q_seq_shards=2)
        print(f"a mask {name}, two shards: tables")
    except ValueError as error:
        print(f"a mask {name}, two shards: ValueError: {error}")
        wrong = True
raise SystemExit(wrong)
