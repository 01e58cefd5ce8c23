#!/usr/bin/env python3
"""Slips of the first hour: what people type for what has another name here. Each is
answered in one line that names the neighbour, and exits with 2."""

import shlex
import unittest

import program
from program import run

PLAIN = "attention_forward sq=3 skv=5 d=4"
SCAN = "mamba3_scan t=4 n=4 p=2"

# (what is typed behind `lockstep`, what the answer names)
SLIPS = (
    # Keys of other libraries.
    (f"verify '{PLAIN} dtype=bf16'", "nearest is 'lane'"),
    (f"verify '{PLAIN} precision=bf16'", "lane=f32, lane=bf16 or lane=f16"),
    (f"verify '{PLAIN} softcap=50'", "nearest is 'cap'"),
    (f"verify '{PLAIN} logits_soft_cap=50'", "nearest is 'cap'"),
    (f"verify '{PLAIN} q_len=3'", "nearest is 'sq'"),
    (f"verify '{PLAIN} kv_len=3'", "nearest is 'skv'"),
    (f"verify '{PLAIN} seqlen=3'", "keys are skv"),
    (f"verify '{PLAIN} num_heads=8'", "nearest is 'hq'"),
    (f"verify '{PLAIN} num_kv_heads=2'", "nearest is 'hkv'"),
    (f"verify '{PLAIN} head_dim=64'", "nearest is 'd'"),
    (f"verify '{PLAIN} batch_size=2'", "nearest is 'b'"),
    (f"verify '{PLAIN} sm_scale=0.1'", "nearest is 'scale'"),
    (f"verify '{PLAIN} is_causal=1'", "nearest is 'mask=causal'"),
    (f"verify '{PLAIN} causal'", "nearest is 'mask=causal'"),
    (f"verify '{PLAIN} window_size=128'", "mask=causal&window:LEFT,RIGHT"),
    (f"verify '{PLAIN} sliding_window=128'", "nearest is 'mask=window'"),
    (f"verify '{PLAIN} attn_mask=m.npy'", "mask=dense:FILE.npy"),
    (f"verify '{PLAIN} segment_ids=0,0,1'", "nearest is 'q_seg'"),
    (f"verify '{PLAIN} cu_seqlens=0,2,3'", "runs:3,5"),
    (f"verify '{PLAIN} sinks=1'", "nearest is 'sinklogit'"),
    (f"verify '{PLAIN} random_seed=1'", "nearest is 'seed'"),
    (f"verify '{SCAN} seq_len=3'", "nearest is 't'"),
    (f"verify '{SCAN} d_state=16'", "nearest is 'n'"),
    (f"verify '{SCAN} cu_seqlens=0,4'", "nearest is 'cu'"),
    # What there is not.
    (f"verify '{PLAIN} dropout=0.1'", "dropout is not supported"),
    (f"verify '{PLAIN} alibi=1'", "ALiBi are not supported"),
    (f"verify '{PLAIN} page_size=16'", "nearest is 'page'"),
    (f"verify '{PLAIN} lane=fp16'", "nearest is 'f16'"),
    (f"verify '{PLAIN} lane=e4m3'", "want f32, bf16 or f16 here, and kvlane=e4m3 beside it, with qlane= for q"),
    (f"verify '{PLAIN} atol=1e-3'", "there is no tolerance"),
    (f"verify '{PLAIN}' --rtol 1e-3", "there is no tolerance"),
    (f"verify '{PLAIN}' --device cuda", "docs/gpu.md"),
    # What there was.
    (f"verify '{PLAIN}' --sarif s.sarif", "nearest is '--junit' (or --json"),
    (f"bench '{PLAIN}' --html b.html", "bench has --json"),
    ("corpus min data/corpus", "nearest is 'fuzz' (--corpus FILE"),
    ("completion bash", "files of an installation"),
    # Masks and types.
    (f"verify '{PLAIN} mask=sliding:3'", "nearest is 'window'"),
    (f"verify '{PLAIN} mask=tril'", "nearest is 'causal'"),
    (f"verify '{PLAIN} mask=none'", "nearest is 'full'"),
    (f"verify '{PLAIN} mask=document'", "q_seg=runs:3,5 kv_seg=runs:3,5"),
    (f"verify '{PLAIN} lane=float32'", "nearest is 'f32'"),
    (f"verify '{PLAIN} lane=bfloat16'", "nearest is 'bf16'"),
    # Ops, files and verbs.
    ("verify 'sdpa sq=3 skv=5 d=4'", "nearest is 'attention_forward'"),
    ("verify 'flash_attention sq=3 skv=5 d=4'", "nearest is 'attention_forward'"),
    ("verify 'mamba2 t=3 n=4 p=2'", "nearest is 'ssd_scan'"),
    ("verify 'merge_states s=2 dv=4'", "nearest is 'attention_merge'"),
    ("verify nofile.cases", "there is no file 'nofile.cases'"),
    ("verify data/cases/smoke.cases", "give it with --cases"),
    ("version", "nearest is '--version'"),
    ("help", "nearest is '--help'"),
    ("-V", "nearest is '--version'"),
    ("test 'attention_forward sq=3 skv=5 d=4'", "nearest is 'verify'"),
    ("benchmark", "nearest is 'bench'"),
    ("why", "nearest is 'explain'"),
    (f"verify '{PLAIN}' --kernel py:k.py:f", "nearest is '--candidate'"),
    (f"verify '{PLAIN}' --json out.json --profil cpu-f32", "nearest is '--profile'"),
    # Candidates and profiles.
    (f"verify '{PLAIN}' --candidate so:nofile.so", "there is no file 'nofile.so'"),
    (f"verify '{PLAIN}' --candidate py:nofile.py:f", "there is no file 'nofile.py'"),
    (f"verify '{PLAIN}' --candidate py", "nearest is 'py:FILE.py:FUNCTION'"),
    (f"verify '{PLAIN}' --candidate my.py:attend", "nearest is 'py:my.py:attend'"),
    (f"verify '{PLAIN}' --candidate ./kernel.so", "nearest is 'so:./kernel.so'"),
    (f"verify '{PLAIN}' --candidate kernel.cu", "nearest is 'so:kernel.so'"),
    (f"verify '{PLAIN}' --candidate data", "nearest is 'files:data'"),
    (f"verify '{PLAIN}' --profile fp32", "nearest is 'cpu-f32'"),
    (f"verify '{PLAIN}' --profile bf16", "nearest is 'flash-bf16'"),
    (f"verify '{PLAIN}' --profile fp16", "nearest is 'flash-f16'"),
    (f"verify '{PLAIN}' --profile h100", "docs/which-profile.md"),
)


class SlipsTest(program.TestCase):
    def test_each_has_its_neighbour(self):
        self.assertGreaterEqual(len(SLIPS), 40)
        for typed, named in SLIPS:
            with self.subTest(typed):
                self.assertUsage(run(*shlex.split(typed)), named)

    def test_the_name_alone_prints_help(self):
        done = run()
        self.assertEqual(done.code, 2)
        self.assertIn("Judge a candidate on cases", done.err)
        self.assertIn("Example:", done.err)


if __name__ == "__main__":
    unittest.main()
