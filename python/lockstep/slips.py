"""What people type for what has another name here, and the answer in one line."""
import difflib

from lockstep.errors import UsageError

_NO_TOLERANCE = ("there is no tolerance: profile= says what arithmetic the kernel has "
                 "(docs/which-profile.md)")

# Words of a kernel's facts: the name here, or a sentence.
FACTS = {
    "dtype": "lanes", "dtypes": "lanes", "lane": "lanes", "precision": "lanes",
    "backend": "framework", "library": "framework", "want": "wants", "mask": "wants",
    "masks": "wants", "lack": "lacks", "missing": "lacks", "outputs": "lacks",
    "supports": "features", "feature": "features", "ops": "op", "operator": "op",
    "atol": _NO_TOLERANCE, "rtol": _NO_TOLERANCE, "tol": _NO_TOLERANCE,
    "tolerance": _NO_TOLERANCE,
    "cuda": "device", "gpu": "device", "place": "device", "devices": "device",
    "case": "cases are the second argument: verify(kernel, cases)",
    "inputs": "the judge makes the inputs; own ones: fill=file:PATH in the case line "
              "(docs/cases.md)",
}
FRAMEWORKS = {
    "pytorch": "torch", "np": "numpy", "triton": "torch", "pallas": "jax", "jnp": "jax",
    "flax": "jax", "xla": "jax",
    "tensorflow": "arrays of TensorFlow are not supported: take NumPy's and convert",
    "cupy": "take NumPy's arrays and convert in the kernel (docs/gpu.md)",
}
WANTS = {"mask": "mask.dense", "dense": "mask.dense", "mask_dense": "mask.dense",
         "attn_mask": "mask.dense", "bias": "mask.bias", "mask_bias": "mask.bias",
         "segment_ids": "segments", "block_mask": "tables:block_mask:BQxBK"}
NAMES = {"judge": "verify", "test": "verify", "assert_close": "verify",
         "assert_allclose": "verify", "compare": "verify", "benchmark": "bench",
         "claims": "invariance", "batch_invariant": "invariance",
         "deterministic": "invariance", "determinism": "invariance",
         "attention": "attention_forward", "sdpa": "attention_forward",
         "reference": "attention_forward", "flash_attention": "attention_forward",
         "merge_states": "attention_merge", "merge_attn_states": "attention_merge",
         "selective_scan": "mamba3_scan", "mamba3": "mamba3_scan", "mamba2": "ssd_scan",
         "block_mask": "block_plan", "create_block_mask": "to_block_mask",
         "BlockMask": "to_block_mask", "MaskInfo": "block_plan", "segment_ids": "ids",
         "mark": "parametrize", "register": "kernel", "case": "Case"}


def answer(word, known, slips):
    """"nearest is 'lanes'", or the sentence that explains what there is not."""
    said = slips.get(str(word).lower())
    if said is None:
        near = difflib.get_close_matches(str(word), known, 1, 0)
        said = near[0] if near else known[0]
    return f"nearest is {said!r}" if " " not in said else said


def check_cases(kernel, cases):
    """Raises UsageError where arrays stand in place of text, or the two are swapped."""
    if callable(cases) or (callable(getattr(cases, "items", None))):
        raise UsageError("the kernel comes first, cases are text: verify(kernel, "
                         "\"attention_forward sq=37 skv=129 d=64\")")
    several = cases if isinstance(cases, (list, tuple)) else [cases]
    if any(hasattr(case, "dtype") or hasattr(case, "__dlpack__") for case in several):
        raise UsageError(
            "a case is a line of text (\"attention_forward sq=37 skv=129 d=64\"), not arrays: "
            "the judge makes the inputs; own ones: fill=file:PATH in the line "
            "(docs/cases.md)")
    if hasattr(kernel, "dtype"):
        raise UsageError("a kernel is a function that takes q, k, v, not its result")
