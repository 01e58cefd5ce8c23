#!/usr/bin/env python3
"""The program with a first witness that is wrong: whatever the candidate is, the
run ends with exit 6, and says that it is the judge who is broken."""

import os
import subprocess
import sys

import runner

# More rows than a sample has, so that a witness is asked. Without probes nothing shows
# a key that is not seen: the verdict is untrusted, exit 5.
CASE = "attention_forward sq=2112 skv=2112 d=16"

SEEN = "if (ran.ok()) CountVisible();"
# (name, text, replacement), exit code
BROKEN = (
    (("unbroken", SEEN, SEEN), 5),
    (("weights", SEEN, SEEN + "auto* x = static_cast<float*>(o_.view.data);"
      "for (int64_t n = 0; n < o_.view.shape[2] * o_.view.shape[3]; ++n) x[n] += 0.5f;"), 6),
    (("lse", SEEN, SEEN + "auto* x = static_cast<float*>(lse_.view.data);"
      "for (int64_t n = 0; n < lse_.view.shape[2]; ++n) x[n] += 0.5f;"), 6),
)


def wrong_about(args, commands, mutant, code):
    """What is not as it has to be; empty: all is."""
    program, message = runner.build(args, commands, {}, mutant)
    if program is None:
        return message
    ran = subprocess.run([program, "verify", CASE, "--candidate", "variant:cpu",
                          "--profile", "cpu-f32", "--no-probes"],
                         cwd=args.root, capture_output=True, text=True, check=False)
    says = "first witness is outside its own bound" in ran.stdout
    os.remove(program)
    if ran.returncode == code and says == (code == 6):
        return ""
    return f"exit {ran.returncode}, not {code}\n{ran.stdout}{ran.stderr}"


def main():
    args = runner.arguments(__doc__, "witness_program")
    args.texts, args.also = runner.rooms_of(args.root), {}
    commands = runner.batches.commands(args.build)
    mutants = runner.located([row for row, _ in BROKEN], args.texts)
    args.rests = runner.rests_of_batches(
        args, commands, [os.path.join(args.root, mutants[0].source)])
    failed = 0
    for mutant, (_, code) in zip(mutants, BROKEN):
        wrong = wrong_about(args, commands, mutant, code)
        failed += bool(wrong)
        print(f"{mutant.name}: {wrong or f'exit {code}, as it has to be'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
