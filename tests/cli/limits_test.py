#!/usr/bin/env python3
"""Limits that hold: memory in what is read, planned and written; evidence that is
the judge's own; text of strangers."""

import ctypes
import fcntl
import json
import os
import re
import struct
import subprocess
import unittest

import program
from program import SMALL, read_safetensors, run, write_safetensors

ESC = "\x1b"


def sanitized(test):
    return unittest.skipIf(program.SANITIZED, "memory of a sanitizer's")(test)


class Names:
    """All names that files in some folders get, as the system tells of them."""

    CREATED_OR_MOVED = 0x100 | 0x80  # IN_CREATE, IN_MOVED_TO

    def __init__(self, folders):
        self.system = ctypes.CDLL(None, use_errno=True)
        self.events = self.system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for folder in folders:
            if self.system.inotify_add_watch(
                    self.events, folder.encode(), self.CREATED_OR_MOVED) < 0:
                raise OSError(ctypes.get_errno(), folder)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.events)

    def seen(self):
        names = set()
        while True:
            try:
                block = os.read(self.events, 1 << 16)
            except BlockingIOError:
                return names
            while block:
                length = struct.unpack_from("iIII", block)[3]
                names.add(block[16:16 + length].rstrip(b"\0").decode())
                block = block[16 + length:]


class MemoryTest(program.TestCase):
    @sanitized
    def test_receipts_do_not_grow_in_memory(self):
        cases = self.path("a.cases", (SMALL + "\n") * 400)
        done = run("verify", "--cases", cases, "--receipt", self.path("r"),
                   "--json", self.path("j"), "--junit", self.path("x"))
        self.assertEqual(done.code, 0, done.err)
        self.assertGreater(os.path.getsize(self.path("r")), 3 << 20)
        # 13 MB as for 20 cases; 50 KB a case were 20 MB more.
        self.assertLess(done.max_rss_mib, 24)
        with open(self.path("r"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["cases"]), 400)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.cases", "j", "r", "x"])

    def test_a_killed_run_leaves_nothing(self):
        os.mkdir(self.path("out"))
        child = program.hold(
            self, "verify", *[SMALL] * 9, f"{SMALL[:-1]}77", "--receipt",
            self.path("out/r"), "--json", self.path("out/j"), word="seed=77")
        child.kill()
        child.communicate()
        self.assertEqual(os.listdir(self.path("out")), [])

    def test_killed_exports_leave_nothing(self):
        # An export that ends leaves its files; one that was killed has no index, and
        # the next writes over what it left. No file ever has a name before it is
        # whole, so that there is no moment at which a kill leaves half of it.
        folder = self.path("case")
        export = ["export", SMALL, "--with-expected", "--out", folder]
        self.assertEqual(run(*export).code, 0)
        files = {os.path.join(at, name): os.path.getsize(os.path.join(at, name))
                 for at, _, names in os.walk(folder) for name in names}
        os.remove(os.path.join(folder, "index.json"))
        with Names(at for at, _, _ in os.walk(folder)) as names:
            self.assertEqual(run(*export).code, 0)
            seen = names.seen()
        self.assertEqual(seen, {os.path.basename(path) for path in files})
        self.assertEqual(files, {path: os.path.getsize(path) for path in files})

    def test_leftovers_of_the_dead_are_removed(self):
        names = ("r.json.tmp1.0", "r.json.tmp987654321.17", "r.json.tmp2.1",
                 "r.json.tmp3.x", "other.json.tmp1.0", "r.json.tmp4.0")
        for name in names:
            self.path(name, "half")
        os.remove(self.path("r.json.tmp4.0"))
        os.symlink(self.path("other.json.tmp1.0"), self.path("r.json.tmp4.0"))
        with open(self.path("r.json.tmp2.1"), encoding="utf-8") as alive:
            fcntl.flock(alive, fcntl.LOCK_EX)  # as whoever writes it does
            for _ in range(2):
                self.assertEqual(
                    run("verify", SMALL, "--receipt", self.path("r.json")).code, 0)
        self.assertEqual(
            sorted(os.listdir(self.folder)),
            ["other.json.tmp1.0", "r.json", "r.json.tmp2.1", "r.json.tmp3.x",
             "r.json.tmp4.0"])

    def test_racing_exports(self):
        children = [subprocess.Popen(
            [os.path.abspath(program.PROGRAM), "export", SMALL, "--minimal",
             "--out", self.path("one")], stdout=subprocess.DEVNULL, cwd=program.SOURCE)
            for _ in range(8)]
        self.assertEqual([child.wait() for child in children], [0] * 8)

    def test_tables_ask_for_no_more_than_the_grid(self):
        case = "block_plan sq=64 skv=64 bq=8 bk=8 mask=causal"
        for dialect in ("shrunk", "splash"):
            for shape in ([1 << 26, 8, 0], [1 << 60, 8, 0], [0, 8, 1 << 60]):
                folder = self.path("t")
                os.makedirs(os.path.join(folder, "1"), exist_ok=True)
                names = ("data_next", "block_mask", "mask_next")
                write_safetensors(os.path.join(folder, "1/outputs.safetensors"), {
                    name + end: ("I32", shape, b"")
                    for name in names for end in ("", "_t")})
                self.export(SMALL, "t/2")
                done = run("verify", f"{case} dialect={dialect}", SMALL, "--candidate",
                           "files:" + folder, "--profile", "exact-f32",
                           address_space=4 << 30)
                self.assertEqual(done.code, 1, done.out + done.err)
                self.assertIn("data_next", done.out)
                self.assertIn("2 cases: 1 pass, 1 fail", done.out)
                self.assertTrue(program.SANITIZED or done.max_rss_mib < 100)

    def test_the_limit_is_that_of_every_reader(self):
        folder, _ = self.export(SMALL)
        sparse = os.path.join(folder, "outputs.safetensors")
        header = json.dumps({"o": {"dtype": "U8", "shape": [3 << 30],
                                   "data_offsets": [0, 3 << 30]}}).encode()
        with open(sparse, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + (3 << 30))
        done = self.judge_files(folder, SMALL, "--max-memory", "64M")
        self.assertAnswerBroken(done, sparse, "the most is 67108864")
        self.assertTrue(program.SANITIZED or done.max_rss_mib < 100)

    def test_arrays_of_numpy_are_within_the_limit(self):
        folder = self.path("arrays")
        os.mkdir(folder)
        header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n"
        for name, size in (("lse", 40 << 20), ("o", 40 << 20)):
            text = header % size
            with open(os.path.join(folder, name + ".npy"), "wb") as file:
                file.write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text)
                file.truncate(10 + len(text) + size)
        # Each of them fits, and both do not.
        done = self.judge_files(folder, SMALL, "--max-memory", "64M")
        self.assertAnswerBroken(done, "o.npy", "the most is ")
        with open(os.path.join(folder, "o.npy"), "r+b") as file:
            file.truncate(3 << 30)
        plain = "attention_forward sq=5 skv=9 d=8"
        for case in (SMALL, f"{plain} mask=dense:{folder}/o.npy",
                     f"{plain} fill=file:{folder}/o.npy#{'0' * 32}",
                     f"{plain} q_seg=file:{folder}/o.npy kv_seg=runs:9"):
            done = self.judge_files(folder, case, "--max-memory", "64M")
            # An answer is its case's own; what a case names is refused at once.
            refused = self.assertAnswerBroken if case == SMALL else self.assertUsage
            refused(done, "o.npy", "the most is ")
            self.assertTrue(program.SANITIZED or done.max_rss_mib < 150)

    def test_small_tiles_are_counted(self):
        for lengths in ("sq=2048 skv=2048", "sq=16384 skv=16384"):
            done = run("verify", f"block_plan {lengths} bq=1 bk=1 mask=causal",
                       "--max-memory", "64M")
            self.assertUsage(done, "--max-memory")
        done = run("plan", "attention_forward sq=1048576 skv=1048576 d=1",
                   "--tile", "1x1")
        self.assertUsage(done, "take larger tiles")
        self.assertTrue(program.SANITIZED or done.max_rss_mib < 200)
        # Nearly all of 2^30 tiles are empty: the others are planned.
        done = run("plan", "attention_forward sq=32768 skv=32768 d=1 "
                   "mask=window:8,0", "--tile", "1x1")
        self.assertEqual(done.code, 0, done.err)

    def test_a_file_of_too_many_cases(self):
        line = "attention_forward sq=1 skv=1 d=1\n"
        done = run("verify", "--cases", self.path("a.cases", line * 300000))
        self.assertUsage(done, "more than 262144 cases", "a.cases:262145")
        half = self.path("b.cases", line * 140000)
        done = run("verify", "--cases", half, "--cases", half)
        self.assertUsage(done, "280000 cases together")


class EvidenceTest(program.TestCase):
    def answers(self, spec):
        receipt = self.path("receipt.json")
        done = run("verify", SMALL, "--candidate", "files:" + spec, "--profile",
                   "exact-f32", "--receipt", receipt)
        self.assertEqual(done.code, 0, done.err)
        with open(receipt, encoding="utf-8") as file:
            noted = json.load(file)["cases"][0]["problem"].get("answers", "")
        self.assertEqual("note " in done.out, noted != "", done.out)
        return noted

    def test_the_judges_own_answers_are_noted(self):
        folder, _ = self.export(SMALL)
        own = os.path.join(folder, "expected.safetensors")
        usual = os.path.join(folder, "outputs.safetensors")
        self.assertEqual(self.answers(folder), "")  # the tensors of another writer
        self.assertIn("judge's own", self.answers(own))
        for make in (os.symlink, os.link):
            os.remove(usual)
            make(own, usual)
            self.assertIn("judge's own", self.answers(folder))
        os.remove(usual)
        with open(own, "rb") as source, open(usual, "wb") as copy:
            copy.write(source.read())
        self.assertIn("byte for byte", self.answers(folder))

    def test_answers_to_probes_are_looked_at_too(self):
        folder = self.path("case")
        case = "attention_forward sq=3 skv=9 d=8"
        done = run("export", case, "--minimal", "--probes", "--with-expected",
                   "--out", folder)
        self.assertEqual(done.code, 0, done.err)
        tensors, metadata = read_safetensors(
            os.path.join(folder, "expected.safetensors"))
        self.write_outputs(folder, tensors, metadata)
        probes = [name for name in os.listdir(os.path.join(folder, "probes"))
                  if name != "index.txt"]
        for own in (False, True):
            for name in probes:
                place = os.path.join(folder, "probes", name)
                if not own:
                    self.write_outputs(place, *read_safetensors(
                        os.path.join(place, "expected.safetensors")))
                    continue
                os.remove(os.path.join(place, "outputs.safetensors"))
                os.symlink("expected.safetensors",
                           os.path.join(place, "outputs.safetensors"))
            done = run("verify", case, "--candidate", "files:" + folder,
                       "--profile", "cpu-f32")
            self.assertIn("exact probe", done.out)
            self.assertEqual("judge's own answer" in done.out, own, done.out)

    def test_a_mask_that_is_gone_is_no_fault_of_the_judge(self):
        tensor = bytes([1]) * (5 * 9)
        mask = self.path("m.safetensors")
        write_safetensors(mask, {"dense_mask": ("U8", [1, 1, 5, 9], tensor)})
        child = program.hold(
            self, "verify", SMALL,
            f"attention_forward sq=5 skv=9 d=8 mask=dense:{mask}", word="seed=3",
            cwd=self.folder)
        os.remove(mask)
        self.path("go", "")
        out, err = child.communicate()
        self.assertIn("no such file", out + err)
        self.assertEqual(child.returncode, 2, out + err)

    def test_exact_profiles_cover_their_lane(self):
        for lane, profile in (("bf16", "exact-f32"), ("f32", "exact-bf16")):
            for weights in ("f32", "bf16"):
                case = f"attention_forward sq=5 skv=9 d=8 lane={lane} p={weights}"
                done = run("verify", case, "--profile", profile)
                self.assertEqual(done.code, 5, done.out)
                self.assertIn("1 skipped", done.out)


class StrangersTest(program.TestCase):
    def assertPrintable(self, done):
        for text in (done.out, done.err):
            self.assertIsNone(re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text), text)

    def test_no_escape_sequence_reaches_the_terminal(self):
        name = f"{ESC}[31mred"
        for done in (run("verify", SMALL, "--candidate", "files:" + name, "--profile",
                         "exact-f32"),
                     run("verify", SMALL, "--profile", name),
                     run("verify", "--cases", name),
                     run(name)):
            self.assertEqual(done.code, 2)
            self.assertIn("\\x1b[31mred", done.err)
            self.assertPrintable(done)
        profile = self.path(
            "p.profile", f"base = cpu-f32\nname = {name}\ndescription = {name}\n")
        done = run("verify", SMALL, "--candidate", "variant:cpu", "--profile", profile,
                   "-v")
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertPrintable(done)
        folder, tensors = self.export(SMALL)
        self.write_outputs(folder, tensors, {"case": name})
        self.assertPrintable(self.judge_files(folder))
        done = run("export", SMALL, "--out", self.path(name))
        self.assertEqual(done.code, 0, done.err)
        self.assertPrintable(done)

    def test_other_peoples_files_are_not_shown(self):
        secret = self.path("secret", "user:hunter2\nKEY = hunter2\nlane = hunter2\n"
                           "base = hunter2\n" * 30)
        event = self.path("e.ndjson", json.dumps(
            {"kind": "finding", "sequence": SMALL, "candidate": "variant:cpu",
             "profile": secret}) + "\n")
        done = run("replay", event)
        self.assertEqual(done.code, 2)
        self.assertNotIn("hunter2", done.out + done.err)
        self.assertLess(done.err.count("\n"), 25)

    def test_a_pipe_is_no_profile(self):
        pipe = self.path("pipe")
        os.mkfifo(pipe)
        done = run("verify", SMALL, "--candidate", "variant:cpu", "--profile", pipe)
        self.assertUsage(done, "not a regular file")

    def test_files_that_say_they_are_empty(self):
        done = run("verify", "--cases", "/proc/self/status")
        self.assertEqual(done.code, 2)
        self.assertIn("/proc/self/status:1:", done.err)

    def test_bytes_behind_a_zero_are_seen(self):
        folder, _ = self.export(SMALL)
        path = os.path.join(folder, "outputs.safetensors")
        with open(path, "rb") as file:
            data = file.read()
        (length,) = struct.unpack("<Q", data[:8])
        header = data[8:8 + length] + b"\0hidden"
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(header)) + header + data[8 + length:])
        self.assertAnswerBroken(self.judge_files(folder), "a byte 0")
        runs = self.path("runs")
        self.assertEqual(
            run("fuzz", "--candidate", "builtin:reference", "--budget", "3cases",
                "--out", runs).code, 0)
        shard = os.path.join(runs, "shard-0-of-1.ndjson")
        with open(shard, "rb") as file:
            lines = file.read().split(b"\n")
        lines[1] += b"\0hidden"
        with open(shard, "wb") as file:
            file.write(b"\n".join(lines))
        self.assertUsage(run("campaign", "merge", runs), ":2: no JSON object")

    def test_folders_that_cannot_be_read(self):
        if os.geteuid() != 0:
            os.makedirs(self.path("runs/closed"))
            os.chmod(self.path("runs/closed"), 0)
            closed = self.path("runs")
        else:  # root reads everything: a folder that is one no more
            closed = "/proc/self/task/1/fd"
        for arguments in (["fuzz", "--corpus", closed, "--budget", "1cases"],
                          ["campaign", "merge", closed]):
            self.assertEqual(run(*arguments).code, 2)

    def test_sizes_of_cases_that_are_refused(self):
        done = run("list", "cases", "data/cases/smoke.cases")
        self.assertEqual(done.code, 0, done.err)
        self.assertNotIn("9007199254740992", done.out)
        self.assertIn("expect refuse, refused", done.out)
        profile = self.path("p", "base = cpu-f32\nname = x\n"
                            "splits = 9223372036854775807\n")
        for case in (SMALL, "attention_forward sq=5 skv=9 d=8 scale=0"):
            done = run("verify", case, "--candidate", "variant:cpu", "--profile", profile)
            self.assertIn(done.code, (0, 5), done.out)
            self.assertNotIn("fail", done.out)


if __name__ == "__main__":
    unittest.main()
