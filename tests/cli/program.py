"""Runs the program `lockstep` for the tests of this folder.

Environment: LOCKSTEP is the program, LOCKSTEP_SOURCE the project's root.
"""

import json
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import unittest

# A job of GitHub Actions that runs these tests shall not change what they see.
for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE"):
    os.environ.pop(name, None)

PROGRAM = os.environ.get("LOCKSTEP", "build/release/bin/lockstep")
SOURCE = os.environ.get(
    "LOCKSTEP_SOURCE",
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
# Sanitizers reserve terabytes of addresses and use several times the memory.
SANITIZED = os.environ.get("LOCKSTEP_SANITIZED", "") not in ("", "0", "OFF")

SMALL = "attention_forward hq=2 hkv=1 sq=5 skv=9 d=8 cap=30 mask=causal seed=3"


class Finished:
    """What a run left: code, out, err, and the most memory it held."""

    def __init__(self, code, out, err, max_rss_mib):
        self.code = code
        self.out = out
        self.err = err
        self.max_rss_mib = max_rss_mib


def run(*arguments, cwd=None, env=None, address_space=None, descriptors=None):
    """Runs `lockstep ARGUMENTS`; stdin is empty, no terminal anywhere. The last two
    are limits: bytes, and descriptors open at once."""

    def limit():
        if address_space is not None and not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS,
                               (address_space, address_space))
        if descriptors is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))

    environment = dict(os.environ)
    environment.update(env or {})
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = subprocess.Popen(
            [os.path.abspath(PROGRAM), *arguments], stdin=subprocess.DEVNULL,
            stdout=out, stderr=err, cwd=cwd or SOURCE, env=environment,
            preexec_fn=limit)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        return Finished(child.returncode, out.read().decode(),
                        err.read().decode(), usage.ru_maxrss // 1024)


def held_kernel(test, word=""):
    """A candidate whose first call of a case with that word lasts until there is the
    file "go" of the test's folder; when it has begun, there is "begun"."""
    words = [sys.executable, os.path.join(SOURCE, "tests/host/wait_host.py"),
             test.path("begun"), test.path("go"), word]
    return "cmd:" + " ".join(f"'{word}'" for word in words)


def hold(test, verb, *arguments, word="", **more):
    """`lockstep VERB ARGUMENTS`, inside a call of such a kernel. No clock decides when
    a test goes on, so that no load of the machine does."""
    child = subprocess.Popen(
        [os.path.abspath(PROGRAM), verb, *arguments, "--candidate",
         held_kernel(test, word), "--profile", "from-candidate"],
        **{"cwd": SOURCE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
           "text": True, **more})
    test.addCleanup(child.kill)
    while not os.path.exists(test.path("begun")):
        test.assertIsNone(child.poll())
        time.sleep(0.01)
    return child


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def summary(text):
    last = events(text)[-1]
    assert last["kind"] == "summary", last
    return last


def read_safetensors(path):
    """{name: (type, shape, bytes)}, metadata."""
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__", {})
    body = data[8 + length:]
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = (entry["dtype"], entry["shape"],
                         bytearray(body[begin:end]))
    return tensors, metadata


def write_safetensors(path, tensors, metadata=None):
    header = {}
    body = b""
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += bytes(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


class TestCase(unittest.TestCase):
    """Each test has an empty folder of its own, self.folder."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = holder.name

    def path(self, name, text=None):
        path = os.path.join(self.folder, name)
        if text is not None:
            with open(path, "wb") as file:
                file.write(text if isinstance(text, bytes) else text.encode())
        return path

    def export(self, case, name="case"):
        """Exports a case; the reference's answer as outputs.safetensors."""
        folder = self.path(name)
        done = run("export", case, "--minimal", "--with-expected", "--out", folder)
        self.assertEqual(done.code, 0, done.err)
        tensors, metadata = read_safetensors(
            os.path.join(folder, "expected.safetensors"))
        self.write_outputs(folder, tensors, metadata)
        return folder, tensors

    def write_outputs(self, folder, tensors, metadata=None):
        write_safetensors(os.path.join(folder, "outputs.safetensors"),
                          tensors, metadata)

    def judge_files(self, folder, case=SMALL, *more):
        return run("verify", case, "--candidate", "files:" + folder,
                   "--profile", "exact-f32", *more)

    def assertAnswerBroken(self, done, *words):
        """Exit 3, an error of the case with a replay line, that names `words`."""
        self.assertEqual(done.code, 3, done.out + done.err)
        self.assertIn("1 case: 1 error", done.out)
        self.assertIn("replay: lockstep verify", done.out)
        for word in words:
            self.assertIn(word, done.out)

    def assertUsage(self, done, *words):
        """Exit 2 and one clear line on stderr that names `words`."""
        self.assertEqual(done.code, 2, done.out + done.err)
        self.assertEqual(done.out, "")
        self.assertTrue(done.err.startswith("lockstep: "), done.err)
        self.assertEqual(done.err.count("\n"), 1, done.err)
        for word in words:
            self.assertIn(word, done.err)
