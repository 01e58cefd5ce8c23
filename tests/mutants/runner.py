"""Breaks the judge on purpose and demands that its unit tests notice.

Each mutant replaces one piece of text, blanks aside, in whichever file of ROOMS holds
it: (name, text, replacement), and behind them a part of the file's path where others
hold the text, too. The file alone is compiled again, linked in front of the libraries with the objects of a test, and run: a
run that passes is a survivor, and this script fails. Where the build compiles files
in batches, the rest of the file's batch, compiled once, is linked with it. The tests
that likely notice run first (suspects.py); a survivor is who passed them all, at once.
A text that is no longer found, or that stands in more than one place, fails too: a mutant
never disappears silently. The tables: *_mutants.py. LOCKSTEP_PART=K/N tries every Nth of
a table, from its Kth (from 0) on.
"""

import argparse
import collections
import functools
import importlib
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../.ci"))
import batches  # noqa: E402
import prefix  # noqa: E402
import suspects  # noqa: E402

ROOMS = ("reference", "optimized", "verify", "fuzz")
# `begin` to `end` of the file `source` are replaced.
Mutant = collections.namedtuple("Mutant", "name source begin end replacement")


def rooms_of(root):
    """{path below the root: text} of every source that a mutant may break."""
    found = {}
    for room in ROOMS:
        for folder, _, names in os.walk(os.path.join(root, room)):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith((".cc", ".h", ".inc")):
                    with open(path, encoding="utf-8") as file:
                        found[os.path.relpath(path, root)] = file.read()
    return found


@functools.cache
def squeezed(text):
    return re.sub(r"\s", "", text)


def located(mutants, texts):
    """Each row of a table as a Mutant; ends the script where a text does not stand in
    exactly one place."""
    rows, wrong = [], []
    for name, text, replacement, *part in mutants:
        text = squeezed(text)
        places = [path for path, code in texts.items() if not part or part[0] in path
                  for _ in range(squeezed(code).count(text))]
        if len(places) != 1:
            wrong.append(f"{name}: the text stands in {len(places)} places {places}")
            continue
        code = texts[places[0]]
        kept = [at for at, letter in enumerate(code) if not letter.isspace()]
        first = squeezed(code).index(text)
        rows.append(Mutant(name, places[0], kept[first], kept[first + len(text) - 1] + 1,
                           replacement))
    if wrong:
        sys.exit("\n".join(wrong))
    return rows


def units_of(texts, units):
    """{path: the first of the sources `units` that includes it}."""
    result = {}
    for unit in units:
        left, seen = [unit], set()
        while left:
            path = left.pop()
            if path in texts and path not in seen:
                seen.add(path)
                result.setdefault(path, unit)
                left += re.findall(r'^#include "(.*)"', texts[path], re.MULTILINE)
    return result


def compile_as(args, command, source, output, shadow):
    """Compiles `source` with the flags of `command`."""
    flags = prefix.flags_of(command)
    # The mutant leaves unused names behind; ccache takes what a file includes from -MD
    # (arguments).
    words = [*args.launcher, flags[0], *shadow, *flags[1:], *args.prefixes.of(command),
             "-w", *args.more, "-MD", "-MF", output + ".d", "-o", output, "-c", source]
    return subprocess.run(words, cwd=args.build, capture_output=True, text=True,
                          check=False)


def compile_whole(args, command, source, output, what):
    """Compiles what is not broken; ends the script if that fails."""
    os.makedirs(os.path.dirname(output), exist_ok=True)
    done = compile_as(args, command, source, output, [])
    if done.returncode != 0:
        sys.exit(f"{what} does not compile: {done.stderr[:400]}")
    return output


def rests_of_batches(args, commands, broken):
    """{file of `broken`: objects}: what else the libraries have in the one object with
    the file; the broken file and these take that object's place. What the table never
    breaks of a batch is compiled together, what it breaks each alone: once for all."""
    rests = {path: [] for path in broken}
    for path in sorted(broken):
        command, others = commands[path]
        touched = sorted({path, *map(os.path.realpath, others)} & rests.keys())
        if path != touched[0] or not others:
            continue
        place = os.path.join(args.work, "rest", os.path.relpath(path, args.root))
        untouched = [x for x in others if os.path.realpath(x) not in touched]
        together = []
        if untouched:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            with open(place, "w", encoding="utf-8") as file:
                file.writelines(f'#include "{other}"\n' for other in untouched)
            together = [compile_whole(args, command, place, place + ".o",
                                      f"the rest of {path}'s batch")]
        alone = {x: compile_whole(args, commands[x][0], x, f"{place}.{n}.o", x)
                 for n, x in enumerate(touched) if len(touched) > 1}
        for x in touched:
            rests[x] = together + [alone[y] for y in touched if y != x]
    return rests


def build(args, commands, units, mutant):
    """(program, None) with the test linked to the mutant, or (None, why not)."""
    name, source, begin, end, replacement = mutant
    path = os.path.join(args.root, source)
    code = args.texts[source][:begin] + replacement + args.texts[source][end:]
    work = os.path.join(args.work, name)
    os.makedirs(work, exist_ok=True)
    broken = os.path.join(work, "broken.cc")
    shadow = []
    if units.get(source, source) != source:  # a header, in a folder searched first
        header = os.path.join(work, source)
        os.makedirs(os.path.dirname(header), exist_ok=True)
        with open(header, "w", encoding="utf-8") as file:
            file.write(code)
        shadow = ["-I" + work]
        path = os.path.join(args.root, units[source])
        code = args.texts[units[source]]
    with open(broken, "w", encoding="utf-8") as file:
        file.write(code)
    if path not in commands:
        return None, f"{name}: nothing compiles {source} by itself; give it a unit"
    compiled = compile_as(args, commands[path][0], broken, broken + ".o", shadow)
    if compiled.returncode != 0:
        return None, f"{name}: does not compile: {compiled.stderr[:400]}"
    program = os.path.join(work, "test")
    also = [output for other, output in args.also.items() if other != path]
    linked = link(args, [broken + ".o", *also, *args.rests.get(path, [])], program)
    os.remove(broken + ".o")
    if linked.returncode != 0:
        return None, f"{name}: does not link: {linked.stderr[:400]}"
    return program, None


def link(args, objects, program):
    """The broken object stands first: an inline function that was not inlined is linked
    from the first object that has it, and a test that has it, too, would heal it."""
    return subprocess.run(
        [args.compiler, *args.linker, *objects, *args.objects, "-Wl,--start-group",
         *args.libraries, "-Wl,--end-group", "-fopenmp", "-lpthread", "-ldl", "-o",
         program],
        capture_output=True, text=True, check=False)


def passes(args, program, tests, *flags):
    """Whether the program passes the tests, a filter of GoogleTest's. It ends at the
    first failure, and its threads sleep while they wait: another table runs beside it."""
    environment = dict(os.environ, GTEST_FAIL_FAST="1", GTEST_BRIEF="1",
                       GTEST_THROW_ON_FAILURE="1", OMP_WAIT_POLICY="passive")
    try:
        return subprocess.run([program, "--gtest_filter=" + tests, *flags],
                              cwd=args.root, env=environment, capture_output=True,
                              timeout=args.limit, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


class Trials:
    """Mutants' programs against the tests, beside the unbroken program."""

    def __init__(self, args, unbroken):
        """The unbroken program passes all tests, or RuntimeError."""
        self.args = args
        self.unbroken = unbroken
        seen = os.path.join(args.work, "times.json")
        args.limit = 1800
        begin = time.monotonic()
        if not passes(args, unbroken, args.filter, "--gtest_output=json:" + seen):
            raise RuntimeError("control: does not pass")
        # Of a program that hangs; what is slow here is slow in all of them.
        args.limit = max(60, 10 * (time.monotonic() - begin))
        self.suspects = suspects.Suspects(suspects.times(seen))
        self.sound = {}  # part: whether the unbroken program passes it by itself

    def shown_by(self, part, program):
        """Whether the part fails, and fails because something is broken."""
        tests = ":".join(part)
        if passes(self.args, program, tests):
            return False
        if part not in self.sound:
            self.sound[part] = passes(self.args, self.unbroken, tests)
        return self.sound[part]

    def killed(self, source, program):
        for part in self.suspects.parts(source):
            if self.shown_by(part, program):
                self.suspects.killed(source, part)
                return True
        return not passes(self.args, program, self.args.filter)


def arguments(text, table, optimize="-O1"):
    """What the command line says of the checkout, the build and what to link;
    `optimize`: -O0 where the tests are short and the sources long."""
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
    args.work = os.path.join(args.build, "mutants", table)  # tables run side by side
    # One SIMD target shows as much as all.
    args.more = [optimize, "-DLOCKSTEP_ONE_TARGET"]
    args.prefixes = prefix.Prefixes(args.root, args.work, args.more)
    args.launcher = [x for x in [shutil.which("ccache")] if x]
    # As in the build: ccache serves files that start with precompiled headers. It
    # takes what a mutant includes from the compiler instead of preprocessing it first,
    # which cost as much as compiling it.
    os.environ["CCACHE_SLOPPINESS"] = "pch_defines,time_macros"
    os.environ["CCACHE_DEPEND"] = "1"
    # Half the time of the system's linker, where the compiler finds it.
    fast = ["-fuse-ld=lld"]
    found = subprocess.run([args.compiler, *fast, "-Wl,--version"], capture_output=True,
                           check=False).returncode == 0
    args.linker = fast if found else []
    return args


def main(name, table, units=(), also=(), optimize="-O1"):
    """`units`: sources of which the first that includes it compiles a header in the
    table; `also`: sources that must know the same SIMD targets as the broken one, which
    its callers do; `optimize`: as in arguments()."""
    args = arguments(__doc__, name, optimize)
    args.texts = rooms_of(args.root)
    units = units_of(args.texts, units)
    commands = batches.commands(args.build)
    mutants = located(table, args.texts)
    part, parts = map(int, os.environ.get("LOCKSTEP_PART", "0/1").split("/"))
    chosen = [m for n, m in enumerate(mutants)
              if (n % parts == part if args.only is None else m.name == args.only)]
    if not chosen:
        print(f"part {part}/{parts} has none of the {len(mutants)} {name} mutants")
        return 0 if args.only is None else 1
    broken = {os.path.join(args.root, units.get(m.source, m.source))
              for m in [mutants[0], *chosen]}
    args.also = {}
    for source in also:
        path = os.path.join(args.root, source)
        output = os.path.join(args.work, os.path.basename(source) + ".o")
        args.also[path] = compile_whole(args, commands[path][0], path, output, source)
    args.prefixes.add(commands, broken, [m.source for m in mutants])
    args.rests = rests_of_batches(args, commands, broken & commands.keys())
    # Unbroken, the same steps must end in a test that passes.
    first = mutants[0]
    control, why = build(args, commands, units, first._replace(
        name="control", replacement=args.texts[first.source][first.begin:first.end]))
    try:
        trials = Trials(args, control) if control else None
    except RuntimeError as error:
        why = error
    if why:
        print(f"the unbroken code fails, so nothing is shown: {why}")
        return 1
    alive = 0
    for mutant in chosen:
        program, why = build(args, commands, units, mutant)
        if program is not None:
            if not trials.killed(mutant.source, program):
                why = f"{mutant.name}: survived"
            os.remove(program)
        if why:
            alive += 1
            print(why, flush=True)
    os.remove(control)
    print(f"{len(chosen) - alive} of {len(chosen)} {name} mutants killed")
    return 1 if alive else 0


def check_tables():
    """Every text of every table stands in exactly one place, or the script ends."""
    here = os.path.dirname(os.path.abspath(__file__))
    texts = rooms_of(os.path.join(here, "../.."))
    tables = [name[:-3] for name in sorted(os.listdir(here)) if name.endswith("_mutants.py")]
    count = sum(len(located(importlib.import_module(table).MUTANTS, texts))
                for table in tables)
    print(f"{count} mutants of {len(tables)} tables")


if __name__ == "__main__":
    check_tables()
