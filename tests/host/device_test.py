#!/usr/bin/env python3
"""Shared objects whose tensors lie on a device: by a stub of libcudart. A right kernel
passes, and each misuse of a device gets its sentence."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))

import kernel_builds  # noqa: E402
from program import run  # noqa: E402

SHAPE = "attention_forward hq=4 hkv=2 sq={} skv=9 d=8 cap=30 mask=causal&window:6,0 align=br"
CASE = SHAPE.format(5)
STRIDED = "attention_forward hq=2 sq=5 skv=9 d=8 mask=causal strides=k:200/100/11/1,o:200/100/12/1"

# Mode of device_kernel.c: exit code, and words of the sentence.
WRONG = {
    "late": (3, "stream: o was not ready when the kernel returned: work on another stream was "
                "not waited for"),
    "inputs": (3, "inputs: wrote into its input v"),
    "before": (3, "outside: wrote outside of o, before it"),
    # The kernel needs the alignment that an allocation has, and does not declare it.
    "aligned": (3, "returned 2"),
    "keeps": (1, "other bits when run again"),
}


class DeviceTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.held = tempfile.TemporaryDirectory()
        cls.folder = cls.held.name
        stub = os.path.join(cls.folder, "libcudart.so")
        subprocess.run(["gcc", "-std=c11", "-D_GNU_SOURCE", "-O1", "-Wall", "-Wextra", "-Werror",
                        "-fPIC", "-shared", os.path.join(HERE, "stub_cudart.c"), "-o", stub],
                       check=True)
        cls.kernel = cls.built(cls.folder)

    @classmethod
    def tearDownClass(cls):
        cls.held.cleanup()

    @classmethod
    def built(cls, folder, *flags):
        return kernel_builds.build(folder, os.path.join(HERE, "device_kernel.c"), *flags,
                                   "-Wl,--no-as-needed", "-L", cls.folder, "-lcudart")

    def judged(self, mode, *cases, kernel=None, more=()):
        return run("verify", *(cases or [CASE]), "--candidate",
                   f"so:{kernel or self.kernel},mode={mode}", "--profile", "from-candidate",
                   *more, env={"LD_LIBRARY_PATH": self.folder})

    def test_right_kernels_pass(self):
        for mode in ("right", "joined", "looks"):
            with self.subTest(mode):
                done = self.judged(mode, CASE, STRIDED)
                self.assertEqual(done.code, 0, done.out + done.err)
                self.assertIn("executed  so (example-attention 1.0) on cuda:0",
                              done.out + done.err)

    def test_each_misuse_has_its_sentence(self):
        for mode, (code, words) in WRONG.items():
            with self.subTest(mode):
                done = self.judged(mode)
                self.assertEqual(done.code, code, done.out + done.err)
                self.assertIn(words, done.out + done.err)

    def test_large_gaps_are_refused_by_name(self):
        for strides in ("k:200/100/1073741824/1", "o:2147483648/100/8/1"):
            with self.subTest(strides):
                done = self.judged("right", f"{SHAPE.format(5)} b=2 strides={strides}")
                self.assertEqual(done.code, 77, done.out + done.err)
                self.assertIn("GiB, nearly all of it gaps, which a device would have to hold",
                              done.out + done.err)

    def test_an_illegal_access_costs_one_case(self):
        done = self.judged("breaks_at_seven", *(SHAPE.format(n) for n in (5, 7, 6, 8)))
        said = done.out + done.err
        self.assertIn("4 cases: 3 pass, 1 error", said)
        self.assertIn("an illegal memory access was encountered, seen when the host waited for "
                      "cuda:0", said)

    def test_devices_that_are_not_there(self):
        for name, words in (("cuda:2", "cuda:2: CUDA: invalid device ordinal"),
                            ("cuda:x", "describes device as 'cuda:x': want \"cuda\" or"),
                            ("hip", "describes device as 'hip': want \"cuda\" or")):
            with self.subTest(name):
                folder = os.path.join(self.folder, name.replace(":", ""))
                os.mkdir(folder)
                kernel = self.built(folder, f'-DDEVICE="{name}"')
                done = self.judged("right", kernel=kernel)
                self.assertEqual(done.code, 2, done.out + done.err)
                self.assertIn(words, done.err)

    def test_it_says_its_device_itself(self):
        done = self.judged("right", more=["--device", "cuda"])
        self.assertEqual(done.code, 2, done.out + done.err)
        self.assertIn("a shared object says its own", done.err)

    def test_the_example_in_cuda_c(self):
        """Emulated: its launch as a loop over blocks and threads."""
        text = re.sub(r"(\w+)<<<(.*), (\d+)>>>\(", r"Emulate(\1, \2, \3, ",
                      kernel_builds.example("attention.cu"))
        self.assertIn("Emulate(Attend", text)
        text = text.replace("<cuda_runtime.h>", '"tests/host/emulated_cuda.h"')
        kernel = kernel_builds.build(self.folder, "attention.cc", "-Wl,--no-as-needed", "-L",
                                     self.folder, "-lcudart", text=text)
        done = run("verify", CASE, STRIDED, SHAPE.format(33) + " sinklogit=normal:2",
                   "--candidate", f"so:{kernel}", "--profile", "from-candidate",
                   env={"LD_LIBRARY_PATH": self.folder})
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("3 cases: 3 pass", done.out + done.err)

    @unittest.skipUnless(shutil.which("nvcc"), "not run: nvcc is not there")
    def test_the_example_compiles(self):
        subprocess.run(["nvcc", "-O2", "-shared", "-Xcompiler", "-fPIC", "-I",
                        kernel_builds.INCLUDE,
                        os.path.join(kernel_builds.EXAMPLES, "attention.cu"), "-o",
                        os.path.join(self.folder, "cuda.so")], check=True)

    def test_times_are_the_device_s(self):
        done = run("bench", CASE, "--candidate", f"so:{self.kernel}", "--profile",
                   "from-candidate", "--budget", "0.01s", env={"LD_LIBRARY_PATH": self.folder})
        self.assertEqual(done.code, 0, done.out + done.err)
        self.assertIn("device clock", done.out)


class NoDeviceTest(unittest.TestCase):
    def test_a_machine_without_a_gpu(self):
        with tempfile.TemporaryDirectory() as folder:
            source = kernel_builds.example("attention.c").replace(
                'description->lanes = "f32";',
                'description->lanes = "f32";\n  description->device = "cuda:99";')
            kernel = kernel_builds.build(folder, "attention.c", text=source)
            done = run("verify", CASE, "--candidate", f"so:{kernel}", "--profile",
                       "from-candidate", env={"LD_LIBRARY_PATH": ""})
        self.assertEqual(done.code, 2, done.out + done.err)
        # There may be a CUDA toolkit, but no hundred GPUs.
        self.assertRegex(done.err, "needs libcudart.so of the CUDA toolkit|cuda:99: CUDA: ")


if __name__ == "__main__":
    unittest.main()
