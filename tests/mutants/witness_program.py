#!/usr/bin/env python3
"""The program with a first witness that is wrong: whatever the candidate is, the
run ends with exit 6, and says that it is the judge who is broken."""

import os
import subprocess
import sys

import runner

SOURCE = "verify/ops/attention_forward/witness.cc"
# More rows than a sample has, so that a witness is asked. Without probes nothing shows
# a key that is not seen: the verdict is untrusted, exit 5.
CASE = "attention_forward sq=2112 skv=2112 d=16"

# name, text, replacement, exit code
BROKEN = (
    ("unbroken", "  if (ran.ok()) CountVisible();", "  if (ran.ok()) CountVisible();", 5),
    ("weights", "  if (ran.ok()) CountVisible();",
     "  if (ran.ok()) CountVisible();\n"
     "  auto* x = static_cast<float*>(o_.view.data);\n"
     "  for (int64_t n = 0; n < o_.view.shape[2] * o_.view.shape[3]; ++n) x[n] += 0.5f;",
     6),
    ("lse", "  if (ran.ok()) CountVisible();",
     "  if (ran.ok()) CountVisible();\n"
     "  auto* x = static_cast<float*>(lse_.view.data);\n"
     "  for (int64_t n = 0; n < lse_.view.shape[2]; ++n) x[n] += 0.5f;", 6),
)


def build(args, commands, name, text, replacement):
    """The program with the text replaced; what went wrong as a string."""
    path = os.path.join(args.root, SOURCE)
    with open(path, encoding="utf-8") as file:
        code = file.read()
    if code.count(text) != 1:
        return None, f"the text stands {code.count(text)} times in {SOURCE}"
    work = os.path.join(args.work, name)
    os.makedirs(work, exist_ok=True)
    broken = os.path.join(work, "broken.cc")
    with open(broken, "w", encoding="utf-8") as file:
        file.write(code.replace(text, replacement))
    compiled = runner.compile_as(args, commands[path][0], broken, broken + ".o", [])
    if compiled.returncode != 0:
        return None, compiled.stderr[:400]
    program = os.path.join(work, "lockstep")
    linked = runner.link(args, [broken + ".o", *args.rests[path]], program)
    os.remove(broken + ".o")
    return (None, linked.stderr[:400]) if linked.returncode else (program, "")


def wrong_about(args, commands, name, text, replacement, code):
    """What is not as it has to be; empty: all is."""
    program, message = build(args, commands, name, text, replacement)
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
    commands = runner.batches.commands(args.build)
    path = os.path.join(args.root, SOURCE)
    args.rests = runner.rests_of_batches(args, commands, [path])
    failed = 0
    for name, text, replacement, code in BROKEN:
        wrong = wrong_about(args, commands, name, text, replacement, code)
        failed += bool(wrong)
        print(f"{name}: {wrong or f'exit {code}, as it has to be'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
