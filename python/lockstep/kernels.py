"""Kernels: plain functions, with what they say of themselves.

    def attend(q, k, v, *, call): ...          -> o, or (o, lse)
    def attend(q, k, v, *, call, out): ...     writes out["o"], out["lse"]
    def scan(q, k, v, *, call): ...            -> y, or (y, theta, h, k, v)
    def plan(mask, *, call): ...               -> {name: integer array}
"""
import __future__
import ast
import dataclasses
import importlib
import importlib.util
import inspect
import os
import sys
import traceback

from lockstep import slips
from lockstep.errors import UsageError
from lockstep.frameworks import LANES, check_framework
from lockstep.places import check_device

# Set where a kernel's file is imported by its host: scripts that define a kernel
# and then call verify need no `if __name__ == "__main__"`.
loading = False
_stopped = False  # the last import ended there


class StopLoading(BaseException):
    """What is called while a host imports a kernel's file: the rest of the file is
    for the process that asked."""


def stop_if_loading():
    if loading:
        raise StopLoading


OPS = ("attention_forward", "attention_backward", "attention_merge", "mamba3_scan",
       "mamba3_scan_backward", "mamba3_step", "ssd_scan", "block_plan")
_LISTS = ("op", "lanes", "wants", "lacks", "features", "splits", "tells", "returns")
# What a case may ask for beyond plain attention (lockstep.call.features_of).
FEATURES = ("causal", "window", "masks", "softcap", "segments", "padding", "sink", "groups",
            "offset", "value_dim", "scale")


@dataclasses.dataclass(frozen=True)
class Facts:
    """What docs/wire.md calls hello, and the framework of the arrays."""
    op: tuple = ("attention_forward",)
    framework: str = "numpy"
    device: str = ""  # memory of the CPU
    profile: str = ""
    wants: tuple = ()
    lacks: tuple = ()
    lanes: tuple = ()
    features: tuple | None = None  # None: not said
    splits: tuple = ()
    alignment: int = 0  # bytes; 0: that of an element
    # Of a function that knows nothing of lockstep (lockstep.strangers).
    layout: str = ""
    tells: tuple = ()
    returns: tuple = ()
    name: str = ""
    version: str = ""

    def changed(self, **changes):
        """With these words in place of its own; None changes nothing."""
        given = {}
        for key, value in changes.items():
            if value is None:
                continue
            known = [f.name for f in dataclasses.fields(self)]
            if key not in known:
                raise UsageError(f"a kernel has no {key!r}; "
                                 + slips.answer(key, known, slips.FACTS)
                                 + "; it has " + ", ".join(known))
            if key == "splits":
                value = _counts(value)
            elif key == "alignment":
                value = _power(value)
            elif key in _LISTS:
                value = words_of(key, value)
            elif not isinstance(value, str):
                raise UsageError(f"{key} is text, not {value!r}")
            given[key] = value
        facts = dataclasses.replace(self, **given)
        for op in facts.op:
            if op not in OPS:
                raise UsageError(f"op {op!r} is unknown; known: " + ", ".join(OPS))
        check_framework(facts.framework)
        check_device(facts.device, facts.framework)
        facts.check_lists()
        return facts

    def check_lists(self):
        for want in self.wants:
            if want in slips.WANTS:
                raise UsageError(f"no kernel wants {want!r}; "
                                 + slips.answer(want, [want], slips.WANTS))
        for lane in self.lanes:
            if lane not in LANES:
                raise UsageError(f"lane {lane!r} is unknown; known: " + ", ".join(LANES))
        for feature in self.features or ():
            if feature not in FEATURES:
                raise UsageError(f"feature {feature!r} is unknown; "
                                 + slips.answer(feature, FEATURES, {})
                                 + "; known: " + ", ".join(FEATURES))

    def words(self, default):
        """The NAME=VALUE words that make these facts of `default`."""
        return [f"{f.name}=" + ("+".join(map(str, value or ())) if f.name in _LISTS else str(value))
                for f in dataclasses.fields(self)
                if (value := getattr(self, f.name)) != getattr(default, f.name)]


def words_of(key, value, between="+"):
    """A tuple of words, of a list or of a text. Raises UsageError for anything else."""
    if isinstance(value, str):
        return tuple(filter(None, value.split(between)))
    words = tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (None,)
    if not all(isinstance(word, str) for word in words):
        raise UsageError(f"{key}: want a list of words, not {value!r}")
    return words


def _counts(values):
    try:
        words = values.split("+") if isinstance(values, str) else values
        counts = tuple(int(value) for value in words)
    except (TypeError, ValueError):
        counts = (0,)
    if not all(1 <= count <= 4096 for count in counts):
        raise UsageError("splits of a kernel are numbers in 1 ... 4096, such as [1, 2, 8]; "
                         f"not {values!r}")
    return counts


def _power(value):
    if str(value) not in {str(1 << n) for n in range(13)}:
        raise UsageError("alignment: want bytes, a power of two up to 4096, such as 64; "
                         f"not {value!r}")
    return int(value)


def kernel(function=None, **facts):
    """Declares facts of a kernel: @lockstep.kernel(op="attention_forward",
    profile="flash-bf16", wants=["mask.dense"], framework="torch").

    op         one op or several, of lockstep.kernels.OPS
    framework  "numpy", "torch" or "jax": what the arguments are
    device     where the arguments are, and where the returned arrays have to be: "cuda",
               "cuda:1" of torch, "gpu", "tpu" of JAX. Absent: in memory of the CPU
    profile    name of a built-in numeric profile, or the text of one
    wants      further inputs that the judge makes, such as masks (docs/wire.md)
    lacks      outputs that the kernel does not have, such as "lse"; a kernel of
               attention that returns one array has only o, and need not say so
    features   everything of lockstep.kernels.FEATURES that it supports, such as
               ["causal", "softcap"]: cases that need more are skipped, and fuzz soon
               draws others
    lanes      "f32", "bf16", "f16": cases in others are skipped; absent: all
    splits     numbers of splits that it can be told to compute by, such as [1, 2, 8]:
               call.splits is one of them, or None
    alignment  bytes, a power of two up to 4096: every tensor begins on a multiple. For
               libraries whose sums depend on addresses, such as torch's in f32
    """
    try:
        known = Facts().changed(**facts)
    except UsageError as error:
        at = sys._getframe(1)
        raise UsageError(f"{at.f_code.co_filename}:{at.f_lineno}: {error}") from None

    def mark(marked):
        marked.__lockstep__ = known
        return marked

    return mark(function) if function is not None else mark


def facts_of(function):
    return getattr(function, "__lockstep__", Facts())


def load(target):
    """The function of "MODULE:FUNCTION" or "FILE.py:FUNCTION"."""
    place, colon, name = target.rpartition(":")
    if not colon or not place or not name:
        raise UsageError(f"{target!r} is no MODULE:FUNCTION or FILE.py:FUNCTION")
    module = _load_file(place, name) if place.endswith(".py") else _load_module(place)
    found = module
    for part in name.split("."):
        found = getattr(found, part, None)
    if not callable(found):
        raise UsageError(f"{place} has no function {name!r}" + (
            " that can be defined without what calls of lockstep return; define kernels "
            "first, or write calls below if __name__ == \"__main__\"" if _stopped else ""))
    return found


def _load_module(name):
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and name.startswith(error.name):
            raise UsageError(f"there is no module {name!r} (looked in "
                             "the working directory and PYTHONPATH)") from None
        raise


def _load_file(path, wanted):
    if not os.path.isfile(path):
        raise UsageError(f"there is no file {path!r}")
    name = os.path.splitext(os.path.basename(path))[0]
    # What stands beside the file can be imported, as when Python runs it.
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    global loading, _stopped
    loading = True
    try:
        spec.loader.exec_module(module)
    except StopLoading as stop:
        _stopped = True
        _define_later(path, module, wanted.partition(".")[0], stop)
    finally:
        loading = False
    return module


def _define_later(path, module, wanted, stop):
    """Goes on behind the first call of lockstep until the kernel is defined. What
    calls lockstep again, or wants a report of the first call, is passed over."""
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read(), path)
    lines = [frame.lineno for frame in traceback.extract_tb(stop.__traceback__)
             if frame.filename == path or os.path.abspath(frame.filename) == os.path.abspath(path)]
    flags = sum(getattr(__future__, name.name).compiler_flag for node in tree.body
                if isinstance(node, ast.ImportFrom) and node.module == "__future__"
                for name in node.names)
    for node in tree.body:
        if hasattr(module, wanted) or not lines:
            return
        if node.end_lineno <= lines[0] or node.lineno <= lines[0] <= node.end_lineno:
            continue
        code = compile(ast.Module([node], []), path, "exec", flags, dont_inherit=True)
        try:
            exec(code, module.__dict__)  # pylint: disable=exec-used
        except (Exception, StopLoading):  # pylint: disable=broad-except
            continue


def target_of(function):
    """FILE.py:FUNCTION or MODULE:FUNCTION of a function that another process can
    import."""
    qualified = getattr(function, "__qualname__", "")
    if not qualified or "<" in qualified:
        raise UsageError(
            f"{function!r} has no name by which another process could import it: "
            "move it to the top of a module, or leave isolate=True out")
    module = sys.modules.get(function.__module__)
    file = getattr(module, "__file__", None)
    if "." in function.__module__ or not file or not file.endswith(".py"):
        if function.__module__ == "__main__":
            raise UsageError(f"{qualified} was typed at a prompt: write it to a file, "
                             "or leave isolate=True out")
        return f"{function.__module__}:{qualified}"
    relative = os.path.relpath(file)
    return f"{file if relative.startswith('..') else relative}:{qualified}"


def quoted(word):
    """A word of a candidate's spec."""
    if any(c in word for c in " ,'\"\\\n"):
        return "'" + word.replace("'", "'\\''") + "'"
    return word


@dataclasses.dataclass(frozen=True)
class Signature:
    """Which of `call` and `out` a kernel takes by name."""
    call: bool
    out: bool

    @classmethod
    def of(cls, function):
        try:
            names = inspect.signature(function).parameters
        except (TypeError, ValueError):
            return cls(True, False)
        any_name = any(p.kind is p.VAR_KEYWORD for p in names.values())
        return cls("call" in names or any_name, "out" in names)
