"""Builds kernels with the C interface outside the tree, as a stranger would."""

import os
import subprocess

import program

EXAMPLES = os.path.join(program.SOURCE, "examples")
INCLUDE = os.path.join(program.SOURCE, "verify", "host", "include")
COMMANDS = {
    ".c": ["gcc", "-std=c99", "-pedantic", "-O1"],
    ".cc": ["g++", "-std=c++17", "-O1"],
}


def build(folder, source, *flags, text=None, name=None):
    """Compiles a file, or `text` in its place; returns the shared object."""
    stem, suffix = os.path.splitext(os.path.basename(source))
    stem = name or stem
    if text is not None:
        source = os.path.join(folder, stem + suffix)
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
    return compile_to(os.path.join(folder, stem + ".so"), source, *flags)


def compile_to(target, source, *flags):
    command = COMMANDS[os.path.splitext(source)[1]]
    subprocess.run([*command, "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-I", INCLUDE,
                    "-I", program.SOURCE, *flags, source, "-o", target, "-lm"],
                   cwd=os.path.dirname(target), check=True)
    return target


def example(name):
    with open(os.path.join(EXAMPLES, name), encoding="utf-8") as file:
        return file.read()
