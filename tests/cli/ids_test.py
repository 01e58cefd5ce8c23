"""`lockstep ids`: a user's own document ids, with padding, typed as a person would."""

import json
import os
import random
import struct
import unittest

import program
from program import run

PACKED = [7, 7, 7, 7, 7, 8, 8, 8, -1, -1]
RETURNS = [7, 7, 8, 8, 8, 7, 7, 7, 7, 7]
CASE = "attention_forward b=2 sq=10 skv=10 d=8 mask=causal"


class Ids(program.TestCase):
    def npy(self, name, rows, kind="<i4"):
        """As NumPy saves it."""
        shape = (len(rows), len(rows[0])) if isinstance(rows[0], list) else (len(rows),)
        flat = sum(rows, []) if isinstance(rows[0], list) else rows
        head = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
        head += b" " * (53 - len(head) % 64 + 64) + b"\n"
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head
                       + struct.pack(f"<{len(flat)}{'i' if kind == '<i4' else 'q'}", *flat))
        return path

    def test_documents_and_a_picture(self):
        done = run("ids", self.npy("a.npy", [PACKED, RETURNS]))
        self.assertEqual(done.code, 0, done.err)
        for said in (
                "row 0  3 documents: id 7 has 5 tokens, id 8 has 3 tokens, id -1 has 2 tokens\n",
                "tokens 8 to 9 have the id -1: if they are padding, say --pad -1\n",
                "row 1  2 documents: ",
                "id 7 comes back: tokens 0 to 1, 5 to 9 are one document\n",
                "       #####.....\n", "       ........##\n"):
            self.assertIn(said, done.out)
        self.assertIn("case   attention_forward b=2 sq=10 skv=10 ", done.out)

    # What it writes is judged, and a kernel that lets padding see itself fails.
    def test_padding(self):
        path, out = self.npy("a.npy", [PACKED, RETURNS], "<i8"), self.path("o.safetensors")
        done = run("ids", path, "--pad", "-1", "--out", out)
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("padding: 2 tokens, which see nothing and which nothing sees\n",
                      done.out)
        self.assertNotIn("say --pad", done.out)
        with open(out, "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            self.assertEqual(set(json.loads(file.read(size))), {"q_seg", "kv_seg"})
        line = done.out.splitlines()[-1]
        self.assertTrue(line.startswith("case   "), line)
        judged = run("verify", line[7:])
        self.assertEqual(judged.code, 0, judged.out + judged.err)
        self.assertIn("2 empty", judged.out)
        itself = run("verify", f"{CASE} q_seg=file:{path} kv_seg=file:{path}")
        self.assertIn("0 empty", itself.out)

    # A packer's own numbers stand beside the ids.
    def test_packed_rows(self):
        self.assertEqual(run("ids", self.npy("a.npy", PACKED), "--pad", "-1", "--packed").code, 0)
        self.assertUsage(run("ids", self.npy("b.npy", [PACKED, RETURNS]), "--pad", "-1", "--packed"),
                         "b.npy: row 1 token 5: id 7 comes back; a document is one run")
        for valid, said in ((8, None), (9, "c.safetensors: row 0: valid is 9, the ids have 8")):
            path = self.path("c.safetensors")
            tensors = (("q_seg", "I32", [10], struct.pack("<10i", *PACKED)),
                       ("valid", "I64", [1], struct.pack("<q", valid)),
                       ("loss_mask", "BOOL", [1, 10], bytes([1] * 8 + [0] * 2)))
            head, at = {}, 0
            for name, kind, shape, data in tensors:
                head[name] = {"dtype": kind, "shape": shape,
                              "data_offsets": [at, at := at + len(data)]}
            with open(path, "wb") as file:
                words = json.dumps(head).encode()
                file.write(struct.pack("<Q", len(words)) + words)
                file.writelines(data for *_, data in tensors)
            done = run("ids", path, "--pad", "-1", "--packed")
            if said:
                self.assertUsage(done, said)
            else:
                self.assertEqual(done.code, 0, done.err)

    def test_a_long_row(self):
        done = run("ids", self.npy("a.npy", [0] * 100 + [3] * 900), "--pad", "0")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("row 0  1 document: id 3 has 900 tokens\n", done.out)
        self.assertIn("padding: 100 tokens, ", done.out)
        self.assertIn("each cell 32 x 32 tokens\n", done.out)
        self.assertIn("with --out FILE.safetensors padding gets ids that match nothing\n",
                      done.out)

    # Each cell by all of its pairs; a million ids were looked up pair by pair once.
    def test_the_picture_of_any_ids(self):
        draw = random.Random(7)
        for tokens, kinds, pad in ((70, 3, None), (33, 40, 2), (100, 1, None), (64, 9, 0)):
            row = [draw.randrange(kinds) for _ in range(tokens)]
            step = -(-tokens // 32)
            cells = [row[n:n + step] for n in range(0, tokens, step)]
            wanted = []
            for a in cells:
                seen = [sum(x == y != pad for x in a for y in b) for b in cells]
                wanted.append("".join("." if n == 0 else "#" if n == len(a) * len(b) else "+"
                                      for n, b in zip(seen, cells)))
            done = run("ids", self.npy("a.npy", row), *(["--pad", str(pad)] if pad is not None
                                                        else []))
            self.assertIn("\n       " + "\n       ".join(wanted) + "\n", done.out)
            self.assertIn(f" {len(set(row) - {pad})} document", done.out)

    def test_a_million_ids(self):
        ids = list(range(1 << 19))
        done = run("ids", self.npy("a.npy", ids + ids))
        self.assertEqual(done.code, 0, done.err)
        self.assertIn(" 524288 documents: id 0 has 1 token, ", done.out)
        self.assertIn("       id 11 comes back: tokens 11, 524299 are one document\n"
                      "       524276 more ids come back\n", done.out)
        self.assertIn("\n       " + ("#" + "." * 15) * 2 + "\n", done.out.replace("+", "#"))

    # More than a case may have is not read.
    def test_a_file_beyond_all_cases(self):
        path = self.npy("a.npy", [0])
        os.truncate(path, 1 << 40)
        self.assertUsage(run("ids", path), "a.npy: has 1099511627776 bytes; the most is 536870912")

    def test_what_is_refused(self):
        path = self.npy("a.npy", PACKED)
        for words, said in (
                (["nofile.npy"], "nofile.npy: no such file"),
                ([path, "--pad", "x"], "--pad 'x': want an id of 32 bits, such as -1"),
                ([path, "--pad", "-1", "--out", path], "a.npy"),
                ([self.npy("b.npy", [1 << 40], "<i8")], "does not fit 32 bits"),
                ([], "FILE is required")):
            done = run("ids", *words)
            self.assertEqual(done.code, 2, words)
            self.assertIn(said, done.err)
            self.assertEqual(len(done.err.splitlines()), 1, done.err)
        self.assertTrue(os.path.exists(path))

    def test_who_types_pad_in_a_case_is_led_here(self):
        done = run("verify", "attention_forward sq=4 skv=4 d=8 pad=-1")
        self.assertEqual(done.code, 2)
        self.assertIn("lockstep ids FILE --pad ID", done.err)


if __name__ == "__main__":
    unittest.main()
