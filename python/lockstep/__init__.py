"""Lockstep: is my attention, mask or scan kernel right?

    import lockstep
    lockstep.verify(my_attention, "attention_forward sq=37 skv=129 d=64 cap=50",
                    profile="cpu-f32").check()
"""
import importlib
import importlib.metadata

from lockstep.errors import Failed, LockstepError, Skipped, Unsupported, UsageError
from lockstep.kernels import kernel

_HOMES = {
    "autograd_kernel": "autograd",
    "Case": "case", "cases": "case", "ids": "document_ids",
    "attention_forward": "operators", "attention_backward": "operators",
    "attention_merge": "operators",
    "block_plan": "operators", "to_block_mask": "tables",
    "mamba3_scan": "operators", "mamba3_scan_backward": "operators",
    "mamba3_step": "operators", "ssd_scan": "operators",
    "Report": "report", "Finding": "report",
    "check": "checked", "Checked": "checked",
    "verify": "judge", "fuzz": "judge", "bench": "bench_kernel",
    "invariance": "claims", "InvarianceReport": "claims", "Claim": "claims",
    "identify": "identified", "Identified": "identified", "FieldEvidence": "identified",
    "parametrize": "pytest_plugin",
}

# What lockstep_verify knows this module by.
DISTRIBUTION = "lockstep-verify"

__all__ = ["Failed", "LockstepError", "Skipped", "Unsupported", "UsageError", "kernel",
           *_HOMES]


def __getattr__(name):
    if name == "__version__":
        return importlib.metadata.version(DISTRIBUTION)
    if name == "ray":
        return importlib.import_module("lockstep.ray")
    # A host starts for every run: what it does not need is not imported.
    if name not in _HOMES:
        if name.startswith("__"):
            raise AttributeError(f"module 'lockstep' has no attribute {name!r}")
        from lockstep import slips
        raise AttributeError(f"module 'lockstep' has no attribute {name!r}; "
                             + slips.answer(name, __all__, slips.NAMES))
    module = importlib.import_module(f"lockstep.{_HOMES[name]}")
    globals()[name] = found = getattr(module, name)
    return found


def __dir__():
    return sorted([*__all__, "__version__", "__doc__", "ray"])
