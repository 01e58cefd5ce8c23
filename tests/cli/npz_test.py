"""Archives of NumPy's arrays, wherever a safetensors file is taken."""

import json
import os
import struct
import sys
import unittest
import warnings
import zipfile

import program
from program import SMALL, run

FOLDER_KERNEL = os.path.join(program.SOURCE, "tests", "host", "folder_kernel.py")


def array(descr, shape, data):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return (b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() +
            bytes(data))


class NpzCase(program.TestCase):

    def npz(self, name, members, deflated=False):
        path = self.path(name)
        how = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
        with zipfile.ZipFile(path, "w", how) as archive:
            for member, data in members:
                # As numpy.savez does it.
                with archive.open(member, "w", force_zip64=True) as file:
                    file.write(data)
        return path


class Answers(NpzCase):

    def test_of_files(self):
        folder, tensors = self.export(SMALL)
        os.remove(os.path.join(folder, "outputs.safetensors"))
        (_, o_shape, o), (_, lse_shape, lse) = tensors["o"], tensors["lse"]
        lse_member = ("lse.npy", array("<f4", tuple(lse_shape), lse))
        for deflated in (False, True):
            self.npz("case/outputs.npz",
                     [("o.npy", array("<f4", tuple(o_shape), o)), lse_member], deflated)
            done = self.judge_files(folder)
            self.assertEqual(done.code, 0, done.err + done.out)
            self.assertIn("1 pass", done.out)
        # One bit of one element is found.
        wrong = bytearray(o)
        wrong[5] ^= 1
        self.npz("case/outputs.npz",
                 [("o.npy", array("<f4", tuple(o_shape), wrong)), lse_member])
        self.assertEqual(self.judge_files(folder).code, 1)
        self.npz("case/outputs.npz", [lse_member])
        self.assertAnswerBroken(self.judge_files(folder), "no tensor 'o'")
        self.npz("case/more.npz", [lse_member])
        self.assertAnswerBroken(self.judge_files(folder),
                                "2 other safetensors and .npz files")

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
            self.npz(f"calls/calls/{number}/outputs.npz",
                     [(f"{name}.npy", array("<f4", tuple(shape), data))
                      for name, (_, shape, data) in tensors.items()])
        done = run("verify", SMALL, "--candidate", "files:" + folder, "--profile",
                   "exact-f32")
        self.assertNotEqual(done.code, 1, done.out + done.err)
        self.assertNotIn("is none", done.out)

    def test_of_a_program_that_is_started_for_each_case(self):
        for mode, code in (("npz", 0), ("npz_drop_key", 1)):
            done = run("verify", "attention_forward sq=3 skv=5 d=4", "--candidate",
                       f"cmd-files:{sys.executable} {FOLDER_KERNEL} {mode}",
                       "--profile", "cpu-f32")
            self.assertEqual(done.code, code, done.out + done.err)


class Inputs(NpzCase):
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
            path = self.npz("m.npz", [("dense_mask.npy", array(descr, (8, 8), bits))], True)
            self.assertEqual(self.digest(self.LIKE + "mask=dense:" + path), wanted)
        blocks = self.npz("b.npz", [("m.npy", array("|b1", (2, 2), [1, 0, 1, 1]))])
        self.assertEqual(
            run("verify", self.LIKE + f"mask=blocks:4x4:file:{blocks}").code, 0)

    def test_ids(self):
        ids = struct.pack("<8q", *([7] * 5 + [-3] * 3))
        path = self.npz("ids.npz", [("q_seg.npy", array("<i8", (8,), ids)),
                                    ("kv_seg.npy", array("<i8", (8,), ids))])
        line = self.LIKE + "q_seg=file:{0} kv_seg=file:{0}"
        self.assertEqual(self.digest(line.format(path)),
                         self.digest(self.LIKE + "q_seg=runs:5,3 kv_seg=runs:5,3"))
        done = run("verify", line.format(path + "#" + "0" * 32))
        self.assertUsage(done, "have the digest")

    def test_page_tables(self):
        entries = struct.pack("<6i", 6, 0, 3, 7, 0, 5)
        wide = struct.pack("<6q", 6, 0, 3, 7, 0, 5)
        line = ("attention_forward b=2 sq=1 skv=10 d=4 page=4:pool=8:file:{0} "
                "valid_kv=10,7")
        plain = self.path("table.npy", array("<i4", (2, 3), entries))
        packed = self.npz("table.npz", [("page_table.npy", array("<i8", (2, 3), wide)),
                                        ("kv_len.npy", array("<i4", (2,), bytes(8)))], True)
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

    def assertRefused(self, path, *words):
        self.assertUsage(run("verify", self.LIKE + "mask=dense:" + path), *words)

    def test_hostile_archives(self):
        mask = array("|b1", (8, 8), bytes(64))
        good = self.npz("good.npz", [("dense_mask.npy", mask)])
        self.assertEqual(run("plan", self.LIKE + "mask=dense:" + good).code, 0)
        with open(good, "rb") as file:
            data = file.read()
        self.assertRefused(self.path("torn.npz", data[:-30]), "torn.npz", "truncated")
        self.assertRefused(self.path("text.npz", "PK\x03\x04"), "text.npz",
                           "is no zip archive")
        self.assertRefused(self.path("none.npz"), "none.npz")
        # Terabytes by its shape, and by its directory.
        self.assertRefused(
            self.npz("huge.npz", [("m.npy", array("|b1", (1 << 20, 1 << 20), b""))]),
            "'m.npy'", "its shape and type take 1099511627776")
        bomb = self.npz("bomb.npz", [("m.npy", mask + bytes(1 << 20))], True)
        with open(bomb, "rb") as file:
            data = bytearray(file.read())
        entry = data.rindex(b"PK\x01\x02")
        struct.pack_into("<I", data, entry + 24, 0xfffffff0)
        self.assertRefused(self.path("bomb.npz", bytes(data)), "'m.npy'", "cannot be 4294967280")
        # Honest, and larger than the judge may use.
        large = self.npz("large.npz", [("m.npy", mask + bytes(64 << 20))], True)
        self.assertLess(os.path.getsize(large), 1 << 20)
        done = run("verify", self.LIKE + "mask=dense:" + large, "--max-memory", "16M")
        self.assertUsage(done, "unpacks to more than the 16777216 bytes")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            twice = self.npz("twice.npz", [("m.npy", mask), ("m.npy", mask)])
        self.assertRefused(twice, "'m.npy': is there twice")
        for name in ("../m.npy", "/m.npy", "a/m.npy", "a\\m.npy", "a\x1b[2J.npy"):
            self.assertRefused(self.npz("name.npz", [(name, mask)]),
                               "want a name without slashes")
        self.assertRefused(self.npz("other.npz", [("m.txt", mask)]), "'m.txt' is no NAME.npy")


if __name__ == "__main__":
    unittest.main()
