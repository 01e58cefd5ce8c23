"""Campaigns on a Ray cluster: shards as tasks, merged to what one run would have said.

    import ray, lockstep
    ray.init(address="auto")
    lockstep.ray.campaign(my_attention, cases=1_000_000, out="runs").check()

Ray is an optional extra: pip install lockstep-verify[ray].
"""
import json
import os
import subprocess
import tempfile

from lockstep import program
from lockstep.errors import LockstepError, UsageError
from lockstep.judge import candidate_words
from lockstep.kernels import stop_if_loading
from lockstep.report import USAGE, Report, usage_error

# What `lockstep fuzz` ends with once every case of a shard has its record.
_COMPLETE = (0, 1, 3, 4, 5, 6, 77)


class Torn(LockstepError):
    """The program of a shard ended before its last case: Ray tries again."""


def campaign(kernel, op=None, *, cases, out, shards=None, seed=0, profile=None, retries=3,
             cpus=1, shrink=None, call_timeout=None, options=(), **facts):
    """Draws cases on every node of the Ray cluster that this process is connected to;
    returns a Report of all of them.

    kernel   as in lockstep.fuzz; a function is imported by every node from the same
             file or module, started in this process's working directory
    cases    how many, of all shards; op and seed say which
    out      a folder for the records of each finished shard, and for merged.ndjson,
             which is byte for byte that of a run without shards. A campaign that is
             started again runs only the missing shards
    shards   number of tasks (four for each CPU of the cluster, at most one per case)
    retries  how often a task is repeated if its node, worker or program ends too early
    cpus     Ray's CPUs for each task; shrink: seconds for each finding (60)

    Raises UsageError for arguments that have no meaning, and LockstepError if a shard
    fails more often than `retries`.
    """
    stop_if_loading()
    ray = _connected()
    if not isinstance(cases, int) or cases < 1:
        raise UsageError(f"cases {cases!r}: want how many, such as 1_000_000")
    count = shards or max(1, min(cases, 4 * int(ray.cluster_resources().get("CPU", 1)) // cpus))
    candidate, _, _ = candidate_words(kernel, profile, True, facts, op)
    words = [*program.options({"--budget": f"{cases}cases", "--seed": seed}, options), *candidate]
    drawn = ["--", op] if op else []
    _open(out, [*words, *drawn], count)
    waits = program.options({"--call-timeout": call_timeout})
    _run_shards(ray, [*words, *waits, *drawn], count, out, retries, cpus)
    return _merge(out, count, [*candidate[:1], *program.options({"--shrink": shrink}), *waits])


def _connected():
    try:
        import ray
    except ModuleNotFoundError:
        raise LockstepError("Ray is not installed: pip install lockstep-verify[ray]") from None
    if not ray.is_initialized():
        raise UsageError("this process is not connected to a Ray cluster: call ray.init first")
    return ray


def _open(out, words, count):
    """A folder for this campaign, new or as it was left. Raises UsageError where it
    is another's."""
    asked = json.dumps({"fuzz": words, "shards": count})
    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, "campaign.json")
    if not os.path.exists(path):
        _write(path, asked.encode())
    with open(path, encoding="utf-8") as file:
        found = file.read()
    if found != asked:
        raise UsageError(f"{out} holds the campaign {found}, which is not {asked}: want "
                         "another folder")


def _path(out, index, count):
    return os.path.join(out, f"shard-{index}-of-{count}.ndjson")


def _run_shards(ray, words, count, out, retries, cpus):
    """Every shard that `out` has not, written as it ends."""
    task = ray.remote(_shard).options(
        num_cpus=cpus, max_retries=retries, retry_exceptions=[Torn],
        scheduling_strategy="SPREAD")
    missing = [n for n in range(count) if not os.path.exists(_path(out, n, count))]
    running = {task.remote(words, n, count, os.getcwd()): n for n in missing}
    try:
        while running:
            done, _ = ray.wait(list(running), num_returns=1)
            index = running.pop(done[0])
            _write(_path(out, index, count), _answer(ray, done[0], index, count))
    finally:
        for reference in running:
            ray.cancel(reference, force=True)


def _answer(ray, reference, index, count):
    """The records of a shard. Raises what its task raised, as ours."""
    try:
        return ray.get(reference)
    except ray.exceptions.RayTaskError as error:
        cause = error.cause
        if isinstance(cause, LockstepError):
            raise cause from None
        raise
    except ray.exceptions.RayError as error:
        raise LockstepError(f"shard {index} of {count} did not end: {error}") from error


def _write(path, records):
    """Beside, then renamed: a file in the folder is a whole shard."""
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as file:
        file.write(records)
    os.replace(file.name, path)


def _shard(words, index, count, folder):
    """On a worker: the records of one shard, as bytes."""
    if not os.path.isdir(folder):
        raise UsageError(f"a node has no folder {folder!r}: start campaigns where every "
                         "node finds the kernel")
    os.chdir(folder)
    with tempfile.TemporaryDirectory(prefix="lockstep-shard-") as out:
        started = program.start_tied(
            ["fuzz", f"--shard={index}/{count}", "--out=" + out, "--shrink=0", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        text = started.communicate()[0].decode(errors="replace")
        if started.returncode == USAGE:
            raise usage_error(text)
        if started.returncode not in _COMPLETE:
            raise Torn(f"shard {index} of {count} ended with {started.returncode}: "
                       + text[-2000:])
        with open(_path(out, index, count), "rb") as file:
            return file.read()


def _merge(out, count, named):
    merged = os.path.join(out, "merged.ndjson")
    parts = [_path(out, n, count) for n in range(count)]
    done = subprocess.run(
        [program.path(), "campaign", "merge", "--out=" + merged, *named, "--", *parts],
        env=program.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False)
    if done.returncode == USAGE:
        raise usage_error(done.stderr)
    with open(merged, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    kept = [event for event in events if event["kind"] in ("finding", "summary")]
    return Report(done.returncode, kept, done.stdout)
