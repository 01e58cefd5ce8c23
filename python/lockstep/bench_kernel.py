"""bench: how long a kernel takes here, once its answer is right."""
import statistics

from lockstep.call import Call
from lockstep.case import Case, cases as read_cases
from lockstep.errors import UsageError
from lockstep.host import arguments_of
from lockstep.judge import is_line, listed, verify
from lockstep.kernels import Signature, facts_of
from lockstep.places import place_of


def bench(kernel, cases, *, repetitions=20, profile=None, **facts):
    """Judges each case, then times the kernel on it in this process.

    Returns one row for each case: {"case", "verdict", "seconds" (median), "best", "samples",
    "clock"}; a case that does not pass is not timed, and its seconds are None. The first
    call, which may compile, is not among the samples. `clock` is "device" if events
    of a CUDA device measured the time (device="cuda"), else "wall".
    """
    if repetitions < 1:
        raise UsageError(f"repetitions {repetitions}: want at least 1")
    known = facts_of(kernel).changed(**facts)
    signature = Signature.of(kernel)
    if signature.out:
        raise UsageError("bench times kernels that return arrays, not out=")
    all_cases = []
    for case in listed(cases):
        all_cases += ([case] if isinstance(case, Case) else [Case(case)]
                      if is_line(str(case)) else read_cases(case))
    return [_row(kernel, case, known, signature, repetitions, profile, facts)
            for case in all_cases]


def _row(kernel, case, known, signature, repetitions, profile, facts):
    report = verify(kernel, case, profile=profile, isolate=False, **facts)
    row = {"case": str(case), "verdict": report.cases[0].verdict, "seconds": None,
           "best": None, "samples": [], "clock": None}
    if not report.passed or report.skipped:
        return row
    told = case.call(known.wants, known.lacks)
    place = place_of(known)
    call = Call(told.message, place.take(told.inputs), told.outputs)
    arguments = arguments_of(call)
    words = {"call": call} if signature.call else {}
    for _ in range(1 + repetitions):
        place.start()
        seconds, row["clock"] = place.wait(kernel(*arguments, **words), {})
        row["samples"].append(seconds)
    place.leave()
    row["samples"] = row["samples"][1:]
    return {**row, "seconds": statistics.median(row["samples"]),
            "best": min(row["samples"])}
