"""tokamax's Triton kernel subtracts no maximum up to a softcap of 60, and rounds weights to
the type of v. Its arithmetic in NumPy, since the kernel needs a GPU: in f16 a weight is
infinite above e^11.09."""
import numpy as np

cap = np.float32(50)
scores = cap * np.tanh(np.float32([12, 3]) / cap)
weights = np.exp(scores)
with np.errstate(over="ignore"):
    o = weights.astype(np.float16).astype(np.float32) @ np.float32([1, 1]) / weights.sum()
print("scores", scores.tolist(), "weights in f16", weights.astype(np.float16).tolist())
print("o =", o, "want 1.0")
raise SystemExit(not np.isfinite(o))
