"""verify, fuzz and invariance: the program judges, a Python function answers."""
import json
import os
import threading

from lockstep import program, slips
from lockstep.errors import UsageError
from lockstep.kernels import OPS, facts_of, quoted, stop_if_loading, target_of
from lockstep.report import USAGE, Report, usage_error


def verify(kernel, cases, *, profile=None, isolate=None, budget=None, shard=None,
           seed=None, threads=None, draws=None, call_timeout=None, junit=None,
           receipt=None, options=(), **facts):
    """Judges a kernel on cases; returns a Report.

    kernel   a function (lockstep.kernel), or a candidate's spec as the program takes
             it: "so:./kernel.so", "builtin:optimized"
    cases    a case line, a lockstep.Case, the path of a case file, or a list of those
    profile  a numeric profile's name, file or text; absent: the kernel's own
    isolate  True: a separate process imports the kernel, so that a crash or a hang
             becomes a verdict. False: the kernel runs here, closures and debuggers work,
             and nothing protects this process. Absent: True, except for a kernel that no
             other process can import, such as a notebook's; the report says so
    budget   "30s", "1000cases"; shard "i/N"; seed of every case
    draws    number of further draws of each case (2; docs/verdicts.md, "Further draws")
    facts    op=, framework=, device=, wants=, lacks=, lanes=, features= in place of
             the kernel's own

    Raises UsageError if nothing could be judged.
    """
    slips.check_cases(kernel, cases)
    files, lines = case_words(cases)
    words = program.options({
        "--budget": budget, "--shard": shard, "--seed": seed, "--threads": threads,
        "--draws": draws, "--call-timeout": call_timeout, "--junit": junit,
        "--receipt": receipt}, options)
    return judge("verify", kernel, profile, isolate, [*files, *words], lines, facts, op_of(cases))


def fuzz(kernel, op=None, *, budget="10s", profile=None, seed=None, isolate=None,
         findings=None, shrink=None, shard=None, corpus=None, out=None, where=None,
         call_timeout=None, options=(), **facts):
    """Draws cases until one fails, and shrinks it to one line; returns a Report
    whose findings hold that line in `replay`.

    op        the op that is drawn; absent: the one that the kernel computes
    budget    "10s", "2m", "1000cases"
    findings  stop after so many different ones (1); shrink: seconds for each (60)
    where     a condition that every drawn case meets: "mask=causal d=64|128 hkv=hq"
    out       a folder for a record of every case, for campaigns
    """
    words = program.options({
        "--budget": budget, "--seed": seed, "--findings": findings, "--shrink": shrink,
        "--shard": shard, "--corpus": corpus, "--out": out, "--where": where,
        "--call-timeout": call_timeout}, options)
    return judge("fuzz", kernel, profile, isolate, words, [str(op)] if op else [], facts, op)


def listed(cases):
    """One list of what may be one thing."""
    return list(cases) if isinstance(cases, (list, tuple)) else [cases]


def is_line(text):
    return text.split(maxsplit=1)[:1] != [] and text.split()[0] in OPS


def case_words(cases):
    """The case files as options, and the case lines."""
    files, lines = [], []
    for case in listed(cases):
        text = text_of(case, "a case")
        if is_line(text):
            lines.append(text)
        elif "\0" not in text and os.path.exists(text):
            files.append("--cases=" + text)
        elif "=" in text and not text.startswith("-"):
            lines.append(text)  # the program knows what is wrong with it
        else:
            raise UsageError(f"{text!r} is neither a case line (\"OP key=value ...\", OP "
                             f"one of {', '.join(OPS)}) nor a file")
    if not files and not lines:
        raise UsageError("there are no cases")
    return files, lines


def text_of(value, what):
    """The text of a path, or of what prints as one."""
    text = os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if not isinstance(text, str):
        raise UsageError(f"{what} is text, not {value!r}")
    return text


def op_of(cases):
    """The op of the cases, where their first line says it."""
    text = str(listed(cases)[0])
    return text.split()[0] if is_line(text) else None


def _resolved(kernel, facts, op):
    """The kernel's facts, those of the call in place of its own."""
    own = facts_of(kernel)
    declared = hasattr(kernel, "__lockstep__") or "op" in facts
    if op and not declared:
        facts = {**facts, "op": (op,)}
    return own, own.changed(**facts)


def _profile_word(profile):
    """What the program's --profile takes: of a text its fields on one line, so that
    replay lines need no file."""
    word = text_of(profile, "a profile")
    if "\n" not in word:
        return word
    fields = (line.partition("#")[0].strip() for line in word.splitlines())
    return "; ".join(field.replace(";", ",") for field in fields if field)


def _profile_words(profile):
    return ["--profile=" + _profile_word(profile)] if profile else []


def candidate_words(kernel, profile, isolate, facts, op, profiled=True):
    """What the program is told of a kernel, the kernel's facts (of a spec None), and
    whether a process of its own can have it. `profiled`: it needs a profile."""
    if isinstance(kernel, str):
        if facts:
            raise UsageError(f"{', '.join(facts)}: said of a function, and {kernel!r} is a "
                             "candidate's spec")
        return ["--candidate=" + kernel, *_profile_words(profile)], None, True
    if not callable(kernel):
        raise UsageError(f"want a function or a candidate's spec, not {kernel!r}")
    own, known = _resolved(kernel, facts, op)
    if profile is None and known.op != ("block_plan",) and (profiled or known.profile):
        if not known.profile:
            raise UsageError("a kernel needs a numeric profile: profile=\"cpu-f32\" here, or in "
                             "@lockstep.kernel(profile=...) (docs/which-profile.md)")
        profile = "from-candidate"
    try:
        target = target_of(kernel)
    except UsageError:
        if isolate:
            raise
        target, isolate = "FILE.py:FUNCTION", False  # a closure: nobody else can call it
    spec = "py:" + ",".join(map(quoted, [target, *known.words(own)]))
    return ["--candidate=" + spec, *_profile_words(profile)], known, isolate is not False


_HERE = ("note      judged in this process, since no other can import the kernel: a crash or a "
         "hang would be this process's; in a file it gets one of its own\n")


def judge(verb, kernel, profile, isolate, words, texts, facts, op):
    """Runs a verb of the program on a kernel; returns a Report. `words`: options with
    their values; `texts`: case lines, or an op, which are no options whatever they are."""
    stop_if_loading()
    candidate, known, apart = candidate_words(kernel, profile, isolate, facts, op,
                                              verb not in ("invariance", "identify"))
    if verb == "identify":
        candidate = candidate[:1]  # a profile is what it finds out
    words = [*words, *candidate, "--json=-", *(["--", *texts] if texts else [])]
    if apart:
        return _run(verb, words, "process")
    from lockstep.in_process import Server
    with Server(kernel, known) as server:
        report = _run(verb, words, "none", server)
    if isolate is None:
        report.text = report.text.rstrip() + "\n" + _HERE
    return report


def _run(verb, words, isolation, server=None):
    """Runs the program; `server` answers in this thread meanwhile."""
    import subprocess
    judge = program.start([verb, *words],
                          server.environment if server else {},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    taken = {}
    readers = [threading.Thread(target=lambda n=n, pipe=pipe: taken.update({n: pipe.read()}))
               for n, pipe in (("out", judge.stdout), ("err", judge.stderr))]
    for reader in readers:
        reader.start()
    try:
        if server:
            server.serve_until(judge)
        code = judge.wait()
    except BaseException:
        judge.terminate()
        judge.wait()
        raise
    finally:
        for reader in readers:
            reader.join()
        judge.stdout.close()
        judge.stderr.close()
    text = taken["err"].decode(errors="replace")
    if code == USAGE:
        raise usage_error(text)
    events = [json.loads(line) for line in taken["out"].decode().splitlines()]
    return Report(code, events, text, isolation)
