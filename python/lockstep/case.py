"""Cases: one text line is shapes, numbers, mask, data and seed (docs/cases.md)."""
import json
import os

import numpy as np

from lockstep import _native
from lockstep.call import Call
from lockstep.errors import UsageError
from lockstep.frameworks import dtype_of, to_framework


def _array(name, dtype, shape, data):
    return name, np.frombuffer(data, dtype_of(dtype)).reshape(shape)


def _arrays(handed):
    return dict(_array(*tensor) for tensor in handed)


class Case:
    """Case("attention_forward sq=37 skv=129 d=64 cap=50 mask=causal").

    Arrays are NumPy's, dense, read-only; bf16 is ml_dtypes.bfloat16. The same line
    gives the same bits on every machine.
    """

    def __init__(self, line):
        try:
            self._case = _native.Case(str(line))
        except ValueError as error:
            raise UsageError(str(error)) from None

    @property
    def canonical(self):
        """Every key in a fixed order."""
        return self._case.canonical

    @property
    def op(self):
        return self._case.op

    def inputs(self):
        """{name: array}, names, shapes and types as in docs/wire.md."""
        return _arrays(_told(self._case.inputs))

    def expected(self):
        """{name: array}: the exact outputs, bit for bit."""
        return _arrays(_told(self._case.expected))

    def mask(self):
        """bool [b or 1, hq or 1, sq, skv]: what each query sees, segments, valid
        counts and dense terms counted."""
        if self.op == "block_plan":
            return self.inputs()["mask"] != 0
        return self.call(wants=("mask.dense",)).inputs["mask.dense"] != 0

    def segments(self):
        """Of attention (q_seg [b, sq], kv_seg [b, skv]), -1 and -2 for what does not
        exist; of a scan the number of each token's run, [b, t]. All i32."""
        return self.call(wants=("segments",)).segments

    def call(self, wants=(), lacks=(), framework="numpy"):
        """The lockstep.call.Call that a kernel gets which has these wants."""
        text, handed, outputs = _told(self._case.call, list(wants), list(lacks))
        arrays = {n: to_framework(a, framework) for n, a in _arrays(handed).items()}
        return Call(json.loads(text), arrays,
                    {name: (tuple(shape), dtype) for name, dtype, shape in outputs})

    def __str__(self):
        return self._case.minimal

    def __repr__(self):
        return f"Case({str(self)!r})"

    def __eq__(self, other):
        return isinstance(other, Case) and self.canonical == other.canonical

    def __hash__(self):
        return hash(self.canonical)


def _told(method, *arguments):
    """What the case says, its refusals as ours."""
    try:
        return method(*arguments)
    except ValueError as error:
        raise UsageError(str(error)) from None


def cases(path):
    """The cases of a case file, a list. Raises UsageError for what is no case."""
    try:
        return [Case(line) for _, line in _native.lines(os.fspath(path))]
    except ValueError as error:
        raise UsageError(str(error)) from None
