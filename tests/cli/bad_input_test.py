"""Whatever is wrong with the input: exit 2, one clear line, nothing written,
no large allocation."""

import os
import struct
import unittest

import program
from program import SMALL, run

# Line, and what the message names.
BAD_LINES = [
    ("", []),
    ("attention_forwards sq=4 skv=4 d=8", ["attention_forward"]),
    ("sq=4 skv=4 d=8", []),
    ("attention_forward sq=4 skv=4 d=8 capp=30", ["capp", "'cap'"]),
    ("attention_forward sq=4 skv=4 d=8 sq=5", ["sq"]),
    ("attention_forward sq=4 skv=4 d=0", ["0"]),
    ("attention_forward sq=4 skv=4 d=-8", ["-8"]),
    ("attention_forward sq=4 skv=4", ["d"]),
    ("attention_forward hq=3 hkv=2 sq=4 skv=4 d=8", ["3", "2"]),
    ("attention_forward sq=4 skv=4 d=8 cap=nan", ["nan"]),
    ("attention_forward sq=4 skv=4 d=8 cap=-1", ["-1"]),
    ("attention_forward sq=4 skv=4 d=8 cap=inf", ["inf"]),
    ("attention_forward sq=4 skv=4 d=8 scale=nan", ["nan"]),
    ("attention_forward sq=99999999999999999999 skv=4 d=8", ["sq"]),
    ("attention_forward sq=9223372036854775807 skv=9223372036854775807 d=8",
     []),
    ("attention_forward b=65536 hq=65536 sq=67108864 skv=67108864 d=16384",
     []),
    ("attention_forward b=1000 hq=100 sq=60000 skv=60000 d=256", ["memory"]),
    ("attention_forward sq=60000 skv=60000 d=8 hq=64 mask=random:0.5 b=8",
     []),
    ("attention_forward sq=4 skv=4 d=8 mask=(causal", []),
    ("attention_forward sq=4 skv=4 d=8 mask=causal)", []),
    ("attention_forward sq=4 skv=4 d=8 mask=causal&", []),
    ("attention_forward sq=4 skv=4 d=8 mask=causl", ["causl"]),
    ("attention_forward sq=4 skv=4 d=8 mask=" + "(" * 5000, []),
    ("attention_forward sq=4 skv=4 d=8 q_seg=runs:4 kv_seg=runs:5", ["5"]),
    ("attention_forward sq=4 skv=4 d=8 q_seg=runs:4", []),
    ("attention_forward sq=4 skv=4 d=8 valid_kv=5", ["5"]),
    ("attention_forward sq=4 skv=4 d=8 lane=f8", ["f8", "f16"]),
    ("mamba3_scan t=4 n=4 p=4 rot=f8", ["f8", "f16"]),
    ("attention_forward sq=4 skv=4 d=8 expect=maybe", ["maybe"]),
    ("attention_forward sq=4 skv=4 d=8 ;; attention_forward sq=4 skv=4 d=0",
     ["0"]),
    ("attention_forward sq=4 skv=4 d=8 fill=file:nowhere.safetensors#" +
     "0" * 32,
     ["nowhere.safetensors"]),
]


class BadCases(program.TestCase):

    def test_a_long_name_does_not_flood(self):
        """What is wrong with a path stands at the end of the line."""
        for arguments in (["attention_forward sq=1 skv=1 d=1 mask=dense:"
                           + "a/" * 30000],
                          [SMALL, "--candidate", "so:" + "a" * 90000]):
            with self.subTest(argument=arguments[-1][:10]):
                done = run("verify", *arguments)
                self.assertUsage(done, " ... ")
                self.assertLess(len(done.err), 4200)

    def test_an_empty_word_is_no_value(self):
        for words in (("verify", SMALL, "--receipt", ""),
                      ("verify", SMALL, "--json", ""),
                      ("verify", SMALL, "--profile", ""), ("verify", "--cases", ""),
                      ("fuzz", "attention_forward", "--budget", "1cases", "--out", ""),
                      ("export", SMALL, "--out", "")):
            with self.subTest(words):
                self.assertUsage(run(*words), "empty")

    def test_on_the_command_line(self):
        for line, words in BAD_LINES:
            with self.subTest(line=line[:80]):
                out = self.path("out.json")
                done = run("verify", line, "--json", out, "--receipt",
                           self.path("receipt.json"), "--junit",
                           self.path("junit.xml"), address_space=1 << 30)
                self.assertUsage(done, *words)
                # Whoever waits for a JUnit file learns it there, too.
                self.assertEqual(os.listdir(self.folder), ["junit.xml"])
                if not program.SANITIZED:
                    self.assertLess(done.max_rss_mib, 64)

    def test_export_and_replay_refuse_the_same(self):
        for line, words in BAD_LINES:
            with self.subTest(line=line[:80]):
                self.assertUsage(
                    run("export", line, "--out", self.path("out"),
                        address_space=1 << 30), *words)
                self.assertUsage(run("replay", line, address_space=1 << 30),
                                 *words)
                self.assertEqual(os.listdir(self.folder), [])

    def test_one_bad_line_in_a_file_and_nothing_is_judged(self):
        for line, words in BAD_LINES[1:]:
            with self.subTest(line=line[:80]):
                cases = self.path("bad.cases", f"{SMALL}\n{line}\n{SMALL}\n")
                done = run("verify", "--cases", cases, "--json", "-",
                           address_space=1 << 30)
                self.assertUsage(done, "bad.cases:2", *words)

    def test_files_of_cases(self):
        self.assertUsage(run("verify", "--cases", self.path("none.cases")),
                         "none.cases")
        self.assertUsage(run("verify", "--cases", self.folder))
        binary = self.path("binary.cases", bytes(range(256)) * 20)
        self.assertUsage(run("verify", "--cases", binary), "binary.cases")


class BadOptions(program.TestCase):

    def test_each(self):
        for arguments, words in [
            (["judge"], []),
            (["verify"], ["--cases"]),
            (["verify", SMALL, "--nope"], ["--nope"]),
            (["verify", SMALL, "--candidate"], ["--candidate"]),
            (["verify", SMALL, "--candidate", "magic:x"],
             ["magic:x", "builtin:optimized", "files:DIR"]),
            (["verify", SMALL, "--candidate", "builtin:optimized@NOPE"],
             ["NOPE", "AVX2"]),
            (["verify", SMALL, "--candidate", "builtin:optimized@AVX3_SPR"],
             ["AVX3_SPR is AVX3 here", "want AVX3"]),
            (["verify", SMALL, "--candidate", "builtin:optimized@AVX3_ZEN4"],
             ["AVX3_ZEN4 is AVX3 here", "want AVX3"]),
            (["verify", SMALL, "--candidate", "builtin:optimized,tile=3x7"],
             ["tile=3x7", "16"]),
            (["verify", SMALL, "--profile", "magic"],
             ["magic", "exact-f32", "exact-bf16"]),
            (["verify", SMALL, "--candidate", "files:nowhere"],
             ["--profile", "exact-f32", "exact-bf16"]),
            (["verify", SMALL, "--budget", "soon"], ["soon", "60s"]),
            (["verify", SMALL, "--shard", "4/4"], ["4/4"]),
            (["verify", SMALL, "--seed", "-1"], ["hexadecimal (0x2a)"]),
            (["verify", SMALL, "--seed", "0x"], ["'0x'"]),
            (["verify", SMALL, "--explain-budget", "20s"],
             ["--explain-budget: want a number of 0 or more, not '20s' (see"]),
            (["verify", SMALL, "--max-skipped", "-1"],
             ["--max-skipped: want a number of 0 or more, not '-1' (see"]),
            (["verify", SMALL, "--threads", "0"], ["threads"]),
            (["verify", SMALL, "--max-memory", "lots"], ["lots"]),
            (["verify", SMALL, "--max-memory", "1K"], ["max-memory"]),
            (["verify", SMALL, "--fail-on", "monday"], []),
            (["verify", SMALL, "--json", "/dev/null/out.json"], ["/dev/null"]),
            (["verify", SMALL, "--json", self.folder], [self.folder]),
            (["verify", SMALL, "--json", "-", "--junit", "-"], ["stdout"]),
            (["export", SMALL], ["--out"]),
            (["export", SMALL, "--out", "/dev/null/deep/er"], ["/dev/null"]),
            (["list"], []),
            (["list", "wishes"], ["wishes", "ops"]),
            (["list", "cases"], ["case file"]),
            (["replay"], []),
            (["env", "nope"], []),
        ]:
            with self.subTest(arguments=arguments):
                self.assertUsage(run(*arguments), *words)
        self.assertEqual(os.listdir(self.folder), [])


def header(text, body=b""):
    data = text if isinstance(text, bytes) else text.encode()
    return struct.pack("<Q", len(data)) + data + body


GOOD = '{"dtype":"F32","shape":[1,2,5,8],"data_offsets":[0,320]}'
HOSTILE = {
    "empty": b"",
    "short": b"\x01\x02\x03",
    "huge header": struct.pack("<Q", 1 << 62) + b"{}",
    "header past the end": struct.pack("<Q", 500) + b"{}",
    "no json": header("hello"),
    "not an object": header("[1]"),
    "truncated body": header('{"o":%s}' % GOOD, b"\0" * 100),
    "no tensors": header("{}"),
    "negative offsets":
        header('{"o":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}'),
    "huge shape":
        header('{"o":{"dtype":"F32","shape":[4611686018427387904,8],'
               '"data_offsets":[0,0]}}'),
    "deep": header("[" * 100000),
    "doubled name": header('{"o":%s,"o":%s}' % (GOOD, GOOD), b"\0" * 320),
    "not utf-8": header(b'{"\xff\xfe":1}'),
}


class HostileFiles(program.TestCase):

    def test_as_candidate(self):
        for name, contents in HOSTILE.items():
            with self.subTest(name=name):
                self.path("outputs.safetensors", contents)
                done = run("verify", SMALL, "--candidate",
                           "files:" + self.folder, "--profile", "exact-f32",
                           address_space=1 << 30)
                self.assertAnswerBroken(done, "outputs.safetensors")

    def test_as_input(self):
        for name, contents in HOSTILE.items():
            with self.subTest(name=name):
                path = self.path("in.safetensors", contents)
                done = run("verify",
                           SMALL + " fill=file:" + path + "#" + "0" * 32,
                           address_space=1 << 30)
                self.assertUsage(done)

    def test_a_missing_tensor_or_file(self):
        self.assertAnswerBroken(self.judge_files(self.folder), self.folder)
        folder, tensors = self.export(SMALL)
        self.write_outputs(folder, {"o": tensors["o"]})
        self.assertAnswerBroken(self.judge_files(folder), "lse")

    def test_no_folder(self):
        self.assertUsage(self.judge_files(self.path("nowhere")), "no folder")

    def test_outputs_of_another_case(self):
        folder, _ = self.export(SMALL)
        other = SMALL.replace("seed=3", "seed=4")
        self.assertAnswerBroken(self.judge_files(folder, other), "another case")


if __name__ == "__main__":
    unittest.main()
