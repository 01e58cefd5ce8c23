"""Arrays of NumPy, wherever a safetensors file is taken: .npy files and folders of them.
Archives, .npz, are refused with the command that unpacks them."""

import json
import os
import re
import shlex
import struct
import sys
import unittest
import zipfile

import program
from program import SMALL, run

FOLDER_KERNEL = os.path.join(program.SOURCE, "tests", "host", "folder_kernel.py")


def array(descr, shape, data):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() +
            bytes(data))


class NumpyCase(program.TestCase):

    def folder_of(self, name, members):
        os.makedirs(self.path(name), exist_ok=True)
        for member, data in members:
            self.path(os.path.join(name, member), data)
        return self.path(name)

    def npz(self, name, members):
        path = self.path(name)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for member, data in members:
                archive.writestr(member, data)
        return path

    def unpack(self, message):
        """Types the one command of the message."""
        words = shlex.split(re.search(r"unpack it by (python3 -m zipfile -e \S+ \S+)",
                                      message)[1].rstrip(","))
        zipfile.main(words[3:])


class Answers(NumpyCase):

    def test_of_files(self):
        folder, tensors = self.export(SMALL)
        os.remove(os.path.join(folder, "outputs.safetensors"))
        members = [(name + ".npy", array("<f4", tuple(shape), data))
                   for name, (_, shape, data) in tensors.items() if name in ("o", "lse")]
        self.npz("case/outputs.npz", members)
        done = self.judge_files(folder)
        self.assertAnswerBroken(done, "archives of NumPy are not read")
        self.unpack(done.out)
        done = self.judge_files(folder)
        self.assertEqual(done.code, 0, done.err + done.out)
        self.assertIn("1 pass", done.out)

    def test_of_calls(self):
        folder = self.path("calls")
        done = run("export", SMALL, "--out", folder, "--with-expected",
                   "--candidate-profile", "exact-f32")
        self.assertEqual(done.code, 0, done.err)
        calls = os.path.join(folder, "calls")
        for number in os.listdir(calls):
            given = os.path.join(calls, number, "expected.safetensors")
            if not os.path.exists(given):
                continue
            tensors, _ = program.read_safetensors(given)
            self.folder_of(f"calls/calls/{number}",
                           [(f"{name}.npy", array("<f4", tuple(shape), data))
                            for name, (_, shape, data) in tensors.items()])
        done = run("verify", SMALL, "--candidate", "files:" + folder, "--profile",
                   "exact-f32")
        self.assertNotEqual(done.code, 1, done.out + done.err)
        self.assertNotIn("is none", done.out)

    def test_of_a_program_that_is_started_for_each_case(self):
        for mode, code in (("npy", 0), ("npy_drop_key", 1)):
            done = run("verify", "attention_forward sq=3 skv=5 d=4", "--candidate",
                       f"cmd-files:{sys.executable} {FOLDER_KERNEL} {mode}",
                       "--profile", "cpu-f32")
            self.assertEqual(done.code, code, done.out + done.err)


class Inputs(NumpyCase):
    LIKE = "attention_forward sq=8 skv=8 d=4 "

    def digest(self, line):
        done = run("plan", line, "--json", "-")
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)["digest"]

    def test_masks(self):
        bits = bytes(int((i * 7 + j * 3) % 5 < 3) for i in range(8) for j in range(8))
        right = self.path("m.safetensors")
        program.write_safetensors(right, {"dense_mask": ("U8", [1, 1, 8, 8], bits)})
        wanted = self.digest(self.LIKE + "mask=dense:" + right)
        for descr in ("|b1", "|u1"):
            path = self.folder_of("m", [("dense_mask.npy", array(descr, (8, 8), bits))])
            self.assertEqual(self.digest(self.LIKE + "mask=dense:" + path), wanted)
        blocks = self.path("b.npy", array("|b1", (2, 2), [1, 0, 1, 1]))
        self.assertEqual(
            run("verify", self.LIKE + f"mask=blocks:4x4:file:{blocks}").code, 0)
        packed = self.npz("x.npz", [("dense_mask.npy", array("|b1", (8, 8), bits))])
        done = run("plan", self.LIKE + "mask=dense:" + packed)
        self.assertUsage(done, "x.npz: archives of NumPy are not read", "name the folder")
        self.unpack(done.err)
        self.assertEqual(self.digest(self.LIKE + "mask=dense:" + self.path("x")), wanted)

    def test_ids(self):
        ids = struct.pack("<8q", *([7] * 5 + [-3] * 3))
        members = [("q_seg.npy", array("<i8", (8,), ids)),
                   ("kv_seg.npy", array("<i8", (8,), ids))]
        path = self.folder_of("ids", members)
        line = self.LIKE + "q_seg=file:{0} kv_seg=file:{0}"
        self.assertEqual(self.digest(line.format(path)),
                         self.digest(self.LIKE + "q_seg=runs:5,3 kv_seg=runs:5,3"))
        done = run("verify", line.format(path + "#" + "0" * 32))
        self.assertUsage(done, "have the digest")
        packed = self.npz("ids.npz", members)
        for words in (["verify", line.format(packed)], ["ids", packed]):
            self.assertUsage(run(*words), "ids.npz: archives of NumPy are not read")

    def test_page_tables(self):
        entries = struct.pack("<6i", 6, 0, 3, 7, 0, 5)
        wide = struct.pack("<6q", 6, 0, 3, 7, 0, 5)
        line = ("attention_forward b=2 sq=1 skv=10 d=4 page=4:pool=8:file:{0} "
                "valid_kv=10,7")
        plain = self.path("table.npy", array("<i4", (2, 3), entries))
        packed = self.folder_of("tables", [("page_table.npy", array("<i8", (2, 3), wide)),
                                           ("kv_len.npy", array("<i4", (2,), bytes(8)))])
        for path in (plain, packed):
            done = run("verify", line.format(path))
            self.assertEqual(done.code, 0, done.out + done.err)
        self.assertUsage(run("verify", line.format(plain + "#" + "0" * 32)),
                         "table.npy", "have the digest")
        self.assertUsage(run("verify", line.format(plain).replace("pool=8", "pool=7")),
                         "table.npy", "row 1, entry 0 is 7", "want a page of 0..6")
        cut = self.path("cut.npy", array("<i4", (2, 3), entries)[:-1])
        self.assertUsage(run("verify", line.format(cut)), "cut.npy")
        self.assertUsage(run("verify", line.format(self.path("none.npy"))), "none.npy",
                         "no such file")


if __name__ == "__main__":
    unittest.main()
