#!/usr/bin/env python3
"""Campaigns on a Ray cluster of two nodes on this machine: workers and nodes that are
killed in the middle, and the bytes of the unsharded run. Runs in LOCKSTEP_PYTHON_RAY,
or in this Python where it has Ray; exits with 77, and says so, elsewhere."""
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "python")
SEED = 20250000 + os.getpid()  # by which processes of this test are found

if os.environ.get("LOCKSTEP_PYTHON_RAY") not in (None, "", sys.executable):
    python = os.environ["LOCKSTEP_PYTHON_RAY"]
    os.execve(python, [python, os.path.abspath(__file__), *sys.argv[1:]],
              {**os.environ, "LOCKSTEP_PYTHON_RAY": ""})

os.environ["LOCKSTEP_PROGRAM"] = os.environ["LOCKSTEP"]
os.environ["PYTHONPATH"] = PACKAGE
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
sys.path.insert(0, PACKAGE)

try:
    import ray
    from ray.cluster_utils import Cluster
except ModuleNotFoundError:
    print("skipped: no Ray here (pip install lockstep-verify[ray], or LOCKSTEP_PYTHON_RAY)")
    sys.exit(77)

import lockstep  # noqa: E402
import lockstep.ray  # noqa: E402

os.chdir(HERE)
MUTANT = "mutant:attn.window_left_plus_one"


def shards_running():
    """The processes that draw cases of this test: {pid: (worker's pid, which shard)}."""
    found = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
            with open(f"/proc/{name}/stat", "rb") as file:
                parent = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
        if b"--shard" in words and str(SEED).encode() in words and b"-ISc" not in words:
            found[int(name)] = parent, words[words.index(b"--shard") + 1].decode()
    return found


def wait_for(condition):
    """What it returns once that is true; the test's own time limit ends what hangs."""
    while not (found := condition()):
        time.sleep(0.01)
    return found


def caught_running(but=()):
    """One of them, stopped: it cannot end before it is told to."""
    def catch():
        for pid, (worker, shard) in shards_running().items():
            if pid in but:
                continue
            try:
                os.kill(pid, signal.SIGSTOP)
            except ProcessLookupError:
                continue
            return pid, worker, shard
        return None
    return wait_for(catch)


class RayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # One CPU each: two shards run at a time, one on each node.
        cls.cluster = Cluster(initialize_head=True, head_node_args={
            "num_cpus": 1, "include_dashboard": False, "object_store_memory": 10**8})
        cls.second = cls.cluster.add_node(num_cpus=1, object_store_memory=10**8)
        ray.init(address=cls.cluster.address, log_to_driver=False)

    @classmethod
    def tearDownClass(cls):
        ray.shutdown()
        cls.cluster.shutdown()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def unsharded(self, kernel, cases, **words):
        """The merged bytes of a run in one process."""
        out = os.path.join(self.folder, "whole")
        lockstep.fuzz(kernel, budget=f"{cases}cases", seed=SEED, out=out, **words)
        candidate = [kernel] if isinstance(kernel, str) else []
        if not candidate:
            candidate = ["py:kernels.py:" + kernel.__name__]
        merged = os.path.join(self.folder, "whole.ndjson")
        subprocess.run([os.environ["LOCKSTEP"], "campaign", "merge", out, "--out", merged,
                        "--candidate", *candidate], check=False, capture_output=True,
                       env={**os.environ, "LOCKSTEP_PYTHON": sys.executable})
        with open(merged, "rb") as file:
            return file.read()

    def merged(self, name):
        with open(os.path.join(self.folder, name, "merged.ndjson"), "rb") as file:
            return file.read()

    def campaign(self, kernel, name, **words):
        return lockstep.ray.campaign(kernel, seed=SEED, out=os.path.join(self.folder, name),
                                     **words)

    def in_background(self, *arguments, **words):
        """A campaign meanwhile: a function that waits for its report."""
        found = {}
        def run():
            try:
                found["report"] = self.campaign(*arguments, **words)
            except BaseException as error:
                found["error"] = error
        thread = threading.Thread(target=run)
        thread.start()

        def join():
            thread.join()
            if "error" in found:
                raise found["error"]
            return found["report"]
        return join

    def test_merged_is_the_unsharded_run(self):
        report = self.campaign(MUTANT, "runs", cases=400, shards=5)
        self.assertEqual(report.exit, 1)
        self.assertEqual(report.summary["cases"], 400)
        self.assertGreater(report.summary["fail"], 0)
        self.assertIn(MUTANT, report.findings[0].replay)
        self.assertEqual(self.merged("runs"), self.unsharded(MUTANT, 400))
        with self.assertRaises(lockstep.Failed):
            report.check()

    def test_a_python_kernel(self):
        import kernels
        report = self.campaign(kernels.attend, "runs", cases=60, shards=3).check()
        self.assertEqual(report.summary["cases"], 60)
        self.assertEqual(self.merged("runs"), self.unsharded(kernels.attend, 60))

    def test_a_killed_worker_loses_nothing(self):
        join = self.in_background(MUTANT, "runs", cases=400, shards=4)
        pid, worker, shard = caught_running()
        os.kill(worker, signal.SIGKILL)
        # What it had started ends with it, stopped as it is.
        wait_for(lambda: pid not in shards_running())
        report = join()
        self.assertTrue(os.path.exists(os.path.join(
            self.folder, "runs", f"shard-{shard.replace('/', '-of-')}.ndjson")))
        self.assertEqual(report.summary["cases"], 400)
        self.assertEqual(self.merged("runs"), self.unsharded(MUTANT, 400))

    def test_a_killed_program_is_tried_again(self):
        join = self.in_background(MUTANT, "runs", cases=400, shards=4)
        pid = caught_running()[0]
        os.kill(pid, signal.SIGKILL)
        join()
        self.assertEqual(self.merged("runs"), self.unsharded(MUTANT, 400))

    def test_a_lost_node_loses_nothing(self):
        join = self.in_background(MUTANT, "runs", cases=400, shards=4)
        # One shard on each of the two, both held.
        held = {}
        while len(held) < 2:
            pid, worker, _ = caught_running(held)
            held[pid] = worker
        self.cluster.remove_node(type(self).second, allow_graceful=False)
        wait_for(lambda: len(set(held) & set(shards_running())) < 2)
        for pid in set(held) & set(shards_running()):
            os.kill(pid, signal.SIGCONT)
        join()
        type(self).second = self.cluster.add_node(num_cpus=1, object_store_memory=10**8)
        self.assertEqual(self.merged("runs"), self.unsharded(MUTANT, 400))

    def test_retries_end(self):
        join = self.in_background(MUTANT, "runs", cases=400, shards=1, retries=0)
        os.kill(caught_running()[0], signal.SIGKILL)
        with self.assertRaises(lockstep.LockstepError) as caught:
            join()
        self.assertIn("shard 0 of 1", str(caught.exception))
        # And again, from where it was: nothing but that shard is missing.
        self.campaign(MUTANT, "runs", cases=400, shards=1)
        self.assertEqual(self.merged("runs"), self.unsharded(MUTANT, 400))

    def test_goes_on_with_what_is_there(self):
        self.campaign(MUTANT, "runs", cases=200, shards=4)
        before = self.merged("runs")
        kept = os.path.join(self.folder, "runs", "shard-1-of-4.ndjson")
        at = os.stat(kept).st_mtime_ns
        os.remove(os.path.join(self.folder, "runs", "shard-2-of-4.ndjson"))
        self.campaign(MUTANT, "runs", cases=200, shards=4)
        self.assertEqual(os.stat(kept).st_mtime_ns, at)
        self.assertEqual(self.merged("runs"), before)

    def test_usage(self):
        for words, said in (({"cases": 0}, "cases 0"), ({"cases": "10s"}, "want how many"),
                            ({"cases": 4, "op": "attention"}, "attention"),
                            ({"cases": 4, "options": ["--plans", "0"]}, "--plans")):
            with self.subTest(said):
                with self.assertRaises(lockstep.UsageError) as caught:
                    self.campaign(MUTANT, said[:4], shards=2, **words)
                self.assertIn(said, str(caught.exception))
        self.campaign(MUTANT, "other", cases=8, shards=2)
        for words in ({"cases": 16, "shards": 2}, {"cases": 8, "shards": 1}):
            with self.assertRaises(lockstep.UsageError) as caught:
                self.campaign(MUTANT, "other", **words)
            self.assertIn("want another folder", str(caught.exception))


if __name__ == "__main__":
    unittest.main()
