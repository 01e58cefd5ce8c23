"""The distribution lockstep-verify, whose module is lockstep.

Other distributions bring a module of that name. Where one of them comes first on the
path, or has replaced files of ours, the programs and the plugin say so.
"""
import importlib
import os
import sys

DISTRIBUTION = "lockstep-verify"


def foreign():
    """What stands in the way of `import lockstep`, in one sentence, or None."""
    ours = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))),
                        "lockstep", "__init__.py")
    try:
        module = importlib.import_module("lockstep")
    except ImportError as error:
        return f"`import lockstep` fails ({error}): pip install --force-reinstall {DISTRIBUTION}"
    if getattr(module, "DISTRIBUTION", None) == DISTRIBUTION:
        return None
    found = getattr(module, "__file__", None) or list(module.__path__)[0]
    remedy = "uninstall or rename it"
    if os.path.exists(ours) and os.path.samefile(found, ours):
        remedy = f"pip uninstall lockstep, then pip install --force-reinstall {DISTRIBUTION}"
    return f"`import lockstep` finds {found}, which another package brought: {remedy}"


def main():
    """The program lockstep."""
    why = foreign()
    if why:
        sys.exit(f"lockstep: error: {why}")
    from lockstep.__main__ import main as start
    start()
