"""Breaks the judge on purpose and demands that its unit tests notice.

Each mutant replaces one piece of text in one source. The file alone is compiled
again, linked in front of the libraries with the objects of a test, and run: a
run that passes is a survivor, and this script fails. Where the build compiles files
in batches, the rest of the file's batch, compiled once, is linked with it. A text that is no longer
found, or that stands there more than once, fails too: a mutant never disappears
silently. The tables: *_mutants.py.
"""

import argparse
import concurrent.futures
import os
import shutil
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.ci"))
import batches  # noqa: E402


def compile_as(args, command, path, source, output, shadow):
    """Compiles `source` the way that `command` compiles `path`."""
    command = command["ccache" in command[0]:]
    command = [source if os.path.realpath(word) == path else word
               for word in command]
    command[command.index("-o") + 1] = output
    command[1:1] = shadow
    command[:0] = args.launcher
    # The mutant leaves unused names behind; one SIMD target shows as much as all.
    command += ["-w", "-O1", "-DLOCKSTEP_ONE_TARGET"]
    return subprocess.run(command, cwd=args.build, capture_output=True, text=True,
                          check=False)


def rest_of_batch(args, commands, path):
    """What else the libraries have in the one object with the file `path`, as a list
    of objects: the broken file and these take that object's place."""
    command, others = commands[path]
    if not others:
        return []
    source = os.path.join(args.build, "mutants", args.table, "rest",
                          os.path.relpath(path, args.root))
    os.makedirs(os.path.dirname(source), exist_ok=True)
    with open(source, "w", encoding="utf-8") as file:
        file.writelines(f'#include "{other}"\n' for other in others)
    done = compile_as(args, command, path, source, source + ".o", [])
    if done.returncode != 0:
        sys.exit(f"the rest of {path}'s batch does not compile: {done.stderr[:400]}")
    return [source + ".o"]


def mutate(args, commands, units, mutant):
    """Returns None if the mutant was killed, else why it was not."""
    name, source, text, replacement = mutant
    path = os.path.join(args.root, source)
    with open(path, encoding="utf-8") as file:
        code = file.read()
    found = code.count(text)
    if found != 1:
        return f"{name}: the text stands {found} times in {source}"
    work = os.path.join(args.build, "mutants", args.table, name)
    os.makedirs(work, exist_ok=True)
    broken = os.path.join(work, "broken.cc")
    shadow = []
    if source in units:  # a header, broken in a folder that is searched first
        header = os.path.join(work, source)
        os.makedirs(os.path.dirname(header), exist_ok=True)
        with open(header, "w", encoding="utf-8") as file:
            file.write(code.replace(text, replacement))
        shadow = ["-I" + work]
        path = os.path.join(args.root, units[source])
        with open(path, encoding="utf-8") as file:
            code = file.read()
    with open(broken, "w", encoding="utf-8") as file:
        file.write(code if shadow else code.replace(text, replacement))
    if path not in commands:
        return f"{name}: nothing compiles {source} by itself; give it a unit"
    compiled = compile_as(args, commands[path][0], path, broken, broken + ".o",
                          shadow)
    if compiled.returncode != 0:
        return f"{name}: does not compile: {compiled.stderr[:400]}"
    program = os.path.join(work, "test")
    link = [args.compiler, *args.objects, broken + ".o", *args.also,
            *args.rests.get(path, []),
            "-Wl,--start-group", *args.libraries, "-Wl,--end-group",
            "-fopenmp", "-lpthread", "-o", program]
    linked = subprocess.run(link, capture_output=True, text=True, check=False)
    if linked.returncode != 0:
        return f"{name}: does not link: {linked.stderr[:400]}"
    environment = dict(os.environ, GTEST_FAIL_FAST="1", GTEST_BRIEF="1")
    try:
        ran = subprocess.run([program, "--gtest_filter=" + args.filter],
                             cwd=args.root, env=environment,
                             capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        ran = None
    for leftover in (broken + ".o", program):
        os.remove(leftover)
    if ran is not None and ran.returncode == 0:
        return f"{name}: survived"
    return None


def arguments(text):
    """What the command line says of the checkout, the build and what to link."""
    parser = argparse.ArgumentParser(description=text)
    parser.add_argument("--root", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--objects", required=True, nargs="+")
    parser.add_argument("--libraries", required=True, nargs="+")
    parser.add_argument("--only", help="one mutant")
    parser.add_argument("--filter", default="*", help="of the tests")
    args = parser.parse_args()
    args.root = os.path.realpath(args.root)
    args.objects = [x for word in args.objects for x in word.split(";")]
    args.libraries = [x for word in args.libraries for x in word.split(";")]
    return args


def main(name, mutants, units=None, also=()):
    """`units`: the source that a header in the table is compiled with; `also`:
    sources that must know the same SIMD targets as the broken one."""
    units = units or {}
    args = arguments(__doc__)
    args.table = name  # tables run side by side
    commands = batches.commands(args.build)
    args.launcher = [x for x in [shutil.which("ccache")] if x]
    # As in the build: ccache serves files that start with precompiled headers.
    os.environ["CCACHE_SLOPPINESS"] = "pch_defines,time_macros"
    args.also = []
    for source in also:
        path = os.path.join(args.root, source)
        output = os.path.join(args.build, "mutants", name,
                              os.path.basename(source) + ".o")
        os.makedirs(os.path.dirname(output), exist_ok=True)
        done = compile_as(args, commands[path][0], path, path, output, [])
        if done.returncode != 0:
            print(f"{source} does not compile: {done.stderr[:400]}")
            return 1
        args.also.append(output)
    chosen = [m for m in mutants if args.only in (None, m[0])]
    broken = {os.path.join(args.root, units.get(m[1], m[1]))
              for m in [mutants[0], *chosen]}
    args.rests = {path: rest_of_batch(args, commands, path)
                  for path in sorted(broken & commands.keys())}
    # Unbroken, the same steps must end in a test that passes.
    _, source, text, _ = mutants[0]
    control = mutate(args, commands, units,
                     ("control", source, text, text))
    if control != "control: survived":
        print(f"the unbroken code fails, so nothing is shown: {control}")
        return 1
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers = list(pool.map(lambda m: mutate(args, commands, units, m), chosen))
    alive = [answer for answer in answers if answer]
    for answer in alive:
        print(answer)
    print(f"{len(chosen) - len(alive)} of {len(chosen)} {name} mutants killed")
    return 1 if alive else 0
