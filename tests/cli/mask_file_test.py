"""Masks of one's own: an element for each block of queries and keys."""

import json
import os
import random
import struct
import sys
import unittest

import program
from program import run

HOST = os.path.join(program.SOURCE, "tests", "host", "terms_host.py")
# Ragged on both axes, and blocks are no squares.
SQ, SKV, BQ, BK = 23, 40, 4, 7
ROWS, COLUMNS = -(-SQ // BQ), -(-SKV // BK)
SHAPE = f"sq={SQ} skv={SKV}"
BLOCKS = f"mask=blocks:{BQ}x{BK}:file:"


def bits(rows, columns, seed):
    draw = random.Random(seed)
    return bytes(draw.randrange(2) for _ in range(rows * columns))


def expanded(blocks):
    """The same for each pair."""
    return bytes(blocks[i // BQ * COLUMNS + j // BK]
                 for i in range(SQ) for j in range(SKV))


class MaskCase(program.TestCase):

    def blocks(self, name="m.safetensors", planes=1, seed=1):
        data = bits(planes * ROWS, COLUMNS, seed)
        path = self.path(name)
        program.write_safetensors(
            path, {"block_mask": ("U8", [1, planes, ROWS, COLUMNS], data)})
        return path, data

    def dense(self, data, name="dense.safetensors"):
        path = self.path(name)
        plane = ROWS * COLUMNS
        pairs = b"".join(expanded(data[n:n + plane])
                         for n in range(0, len(data), plane))
        program.write_safetensors(
            path, {"dense_mask": ("U8", [1, len(data) // plane, SQ, SKV], pairs)})
        return path

    def npy(self, name, descr, shape, data):
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
        text += " " * (-(len(text) + 11) % 64) + "\n"
        header = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
        return self.path(name, header + data)

    def plan(self, line, *options):
        done = run("plan", line, *options, "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)


class Meaning(MaskCase):

    def test_tables_are_those_of_the_pairs(self):
        path, data = self.blocks(planes=2)
        dense = self.dense(data)
        for more in ("", "&causal", "|window:3,2", "&(sink:5|chunked:9)"):
            for tile in ("4x7", "8x8", "3x5"):
                line = f"attention_forward hq=2 {SHAPE} d=4 "
                own = self.plan(line + BLOCKS + path + more, "--tile", tile)
                pairs = self.plan(line + f"mask=dense:{dense}{more}", "--tile", tile)
                self.assertEqual(own["digest"], pairs["digest"], (more, tile))
                self.assertGreater(own["partial"] + own["full"], 0)
        # Of the blocks' own size, no tile that is whole is partial.
        own = self.plan(f"attention_forward hq=2 {SHAPE} d=4 {BLOCKS}{path}",
                        "--tile", f"{BQ}x{BK}")
        self.assertEqual(own["active"], own["full"])
        self.assertEqual(own["active"], data.count(1))

    def test_kernels_are_judged(self):
        path, data = self.blocks(planes=2)
        digests = set()
        for mask in (BLOCKS + path, "mask=dense:" + self.dense(data)):
            line = (f"attention_forward hq=2 {SHAPE} d=8 {mask}&window:30,30 "
                    "q_seg=runs:11,12 kv_seg=runs:20,20")
            receipt = self.path("r.json")
            done = run("verify", line, "--receipt", receipt)
            self.assertEqual(done.code, 0, done.out + done.err)
            with open(receipt, encoding="utf-8") as file:
                digests.add(json.dumps(json.load(file)["cases"][0]["output_digests"]))
            # By the terms, and from a mask of pairs that the judge makes.
            for host in (HOST, HOST.replace("terms_host", "attention_host")):
                done = run("verify", line, "--candidate",
                           f"cmd:{sys.executable} {host}", "--profile", "cpu-f32")
                self.assertEqual(done.code, 0, done.out + done.err)
            done = run("verify", line, "--candidate", "mutant:attn.dense_transposed",
                       "--profile", "cpu-f32")
            self.assertEqual(done.code, 1, done.out + done.err)
        self.assertEqual(len(digests), 1, digests)

    def test_tables_of_planners_are_judged(self):
        path, _ = self.blocks()
        for dialect, tile in (("shrunk", "bq=4 bk=7"), ("shrunk", "bq=6 bk=4"),
                              ("block_mask", "bq=8 bk=8")):
            line = f"block_plan {SHAPE} {BLOCKS}{path} {tile} dialect={dialect}"
            done = run("verify", line)
            self.assertEqual(done.code, 0, done.out + done.err)
            self.assertIn("1 pass", done.out)
            done = run("verify", line, "--candidate", "mutant:plan.dense_in_disguise")
            if "bq=4 bk=7" not in line:  # there every tile is full
                self.assertEqual(done.code, 1, done.out + done.err)

    def test_a_file_of_numpy(self):
        _, data = self.blocks()
        line = f"attention_forward {SHAPE} d=4 "
        right = self.plan(line + BLOCKS + self.path("m.safetensors"))["digest"]
        for descr, shape in (("|b1", (ROWS, COLUMNS)), ("|u1", (1, 1, ROWS, COLUMNS))):
            path = self.npy("any.npy", descr, shape, data)
            self.assertEqual(self.plan(line + BLOCKS + path)["digest"], right)

    def test_line_and_digest(self):
        path, _ = self.blocks()
        line = f"attention_forward {SHAPE} d=4 {BLOCKS}{path}"
        done = run("verify", line + "#" + "0" * 32)
        self.assertUsage(done, "have the digest", "the case pins")
        digest = done.err.split("the digest ")[1][:32]
        pinned = f"{line}#{digest}"
        events = self.path("e.ndjson")
        done = run("verify", pinned, "--candidate", "mutant:attn.scale_missing", "--profile",
                   "cpu-f32", "--json", events)
        self.assertEqual(done.code, 1, done.out + done.err)
        self.assertIn(f"{BLOCKS}{path}#{digest}", done.out)  # the line to replay
        self.assertEqual(run("replay", events).code, 1)
        # Another mask under the same name is not the case that was judged.
        self.blocks(seed=2)
        self.assertUsage(run("verify", pinned), "the case pins " + digest)

    def test_export_holds_the_blocks(self):
        path, data = self.blocks()
        line = f"attention_forward {SHAPE} d=4 {BLOCKS}{path}"
        folder, _ = self.export(line)
        tensors, metadata = program.read_safetensors(
            os.path.join(folder, "inputs.safetensors"))
        self.assertEqual(tensors["dense_mask_0"], ("U8", [1, 1, ROWS, COLUMNS], data))
        self.assertIn(BLOCKS + path, metadata["case"])
        self.assertEqual(self.judge_files(folder, line).code, 0)
        calls = self.path("calls")
        done = run("export", line, "--out", calls, "--candidate-profile", "cpu-f32")
        self.assertEqual(done.code, 0, done.err)
        with open(os.path.join(calls, "calls", "1", "call.json"), encoding="utf-8") as file:
            call = json.load(file)
        self.assertEqual(call["masks"], [{"kind": "blocks", "tensor": "dense_mask_0",
                                          "block": [BQ, BK]}])

    def test_shrinking_and_mutating_leave_the_file_alone(self):
        path, _ = self.blocks()
        line = f"attention_forward {SHAPE} d=8 cap=3 {BLOCKS}{path}"
        done = run("shrink", line, "--candidate", "mutant:attn.scale_missing", "--profile",
                   "cpu-f32")
        self.assertEqual(done.code, 1, done.out + done.err)
        corpus = self.path("corpus")
        os.mkdir(corpus)
        with open(os.path.join(corpus, "a.cases"), "w", encoding="utf-8") as file:
            file.write(line + "\n")
        done = run("fuzz", "attention_forward", "--corpus", corpus, "--budget", "60cases",
                   "--seed", "5")
        self.assertEqual(done.code, 0, done.out + done.err)


class Refused(MaskCase):

    LINE = f"attention_forward {SHAPE} d=4 {BLOCKS}"

    def test_other_shapes_and_types(self):
        good = bytes(ROWS * COLUMNS)
        for kind, shape, data, word in (
                ("U8", [1, 1, COLUMNS, ROWS + 1], bytes(COLUMNS * (ROWS + 1)),
                 f"U8 [1, 1, {COLUMNS}, {ROWS + 1}]"),
                ("U8", [1, 1, SQ, SKV], bytes(SQ * SKV), f"U8 [1, 1, {SQ}, {SKV}]"),
                ("U8", [2, 1, ROWS, COLUMNS], good * 2, f"[2, 1, {ROWS}, {COLUMNS}]"),
                ("I32", [ROWS, COLUMNS], good * 4, f"I32 [{ROWS}, {COLUMNS}]"),
                ("U8", [ROWS, COLUMNS], good[:-1] + b"\x07", "is 7; want 0 or 1")):
            path = self.path("bad.safetensors")
            program.write_safetensors(path, {"block_mask": (kind, shape, data)})
            for op in (self.LINE, f"block_plan {SHAPE} {BLOCKS}"):
                self.assertUsage(run("verify", op + path), word, "bad.safetensors")
        program.write_safetensors(path, {"a": ("U8", [ROWS, COLUMNS], good),
                                         "b": ("U8", [ROWS, COLUMNS], good)})
        self.assertUsage(run("verify", self.LINE + path), "no mask",
                         f"want tensor 'block_mask' (or one tensor alone), U8 or BOOL, "
                         f"[{ROWS}, {COLUMNS}] or [1, 1, {ROWS}, {COLUMNS}]")

    def test_what_is_no_file_of_tensors(self):
        path, _ = self.blocks()
        with open(path, "rb") as file:
            whole = file.read()
        with open(path, "wb") as file:
            file.write(whole[:-1])
        self.assertUsage(run("verify", self.LINE + path), "m.safetensors")
        cut = self.npy("cut.npy", "|u1", (ROWS, COLUMNS), bytes(ROWS * COLUMNS - 1))
        self.assertUsage(run("verify", self.LINE + cut), "cut.npy")
        os.mkdir(self.path("folder"))
        self.assertUsage(run("verify", self.LINE + self.path("folder")), "folder")
        os.mkfifo(self.path("pipe"))
        self.assertUsage(run("verify", self.LINE + self.path("pipe")), "pipe")
        self.assertUsage(run("verify", self.LINE + self.path("none")), "no such file")

    def test_lines(self):
        for mask, word in (("blocks:4:file:m", "blocks:BQxBK:file:PATH"),
                           ("blocks:4x7:file", "blocks:BQxBK:file:PATH"),
                           ("blocks:4x7:file:", "wants a file name"),
                           ("blocks:0x7:file:m", "block size 0"),
                           ("blocks:4x-7:file:m", "block size -7"),
                           ("blocks:4x7:file:m#12", "digest")):
            self.assertUsage(
                run("verify", f"attention_forward {SHAPE} d=4 mask={mask}"), word)


class Long(MaskCase):
    """131072 queries and keys: a mask of pairs would take 16 GiB."""

    def test_long_contexts_in_little_memory(self):
        length, block = 16384 if program.SANITIZED else 131072, 128
        side = length // block
        path = self.path("long.safetensors")
        data = bits(side, side, 7)
        program.write_safetensors(path, {"block_mask": ("U8", [side, side], data)})
        shape = f"sq={length} skv={length}"
        line = f"attention_forward {shape} d=1 mask=blocks:{block}x{block}:file:{path}"
        done = run("plan", line, "--tile", f"{block}x{block}", "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(json.loads(done.out)["full"], data.count(1))
        if not program.SANITIZED:
            self.assertLess(done.max_rss_mib, 400)

    def test_tables_are_judged_by_ranges(self):
        # Above 2^28 pairs; half of the blocks are seen.
        length, block = 16384 if program.SANITIZED else 32768, 256
        side = length // block
        path = self.path("long.safetensors")
        program.write_safetensors(
            path, {"block_mask": ("U8", [side, side], bits(side, side, 7))})
        done = run("verify", f"block_plan sq={length} skv={length} bq={block} bk={block} "
                   f"blocks=no mask=blocks:{block}x{block}:file:{path}")
        self.assertEqual(done.code, 0, done.out + done.err)
        if not program.SANITIZED:
            self.assertLess(done.max_rss_mib, 400)


if __name__ == "__main__":
    unittest.main()
