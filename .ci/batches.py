"""How each file of a build is compiled, in batches (LOCKSTEP_UNITY) or not."""

import json
import os
import re
import shlex


def files_of(unit):
    """The files that a batch includes, in order; a batch is what CMake wrote."""
    if os.path.basename(os.path.dirname(unit)) != "Unity":
        return []
    with open(unit, encoding="utf-8") as file:
        return re.findall(r'^#include "(.*)"$', file.read(), re.MULTILINE)


def units(build):
    """Every file or batch that the build compiles, sorted, each once."""
    with open(os.path.join(build, "compile_commands.json"),
              encoding="utf-8") as file:
        return sorted({os.path.realpath(os.path.join(entry["directory"], entry["file"]))
                       for entry in json.load(file)})


def commands(build):
    """{real path: (arguments, others)}: what compiles the file by itself, with the
    flags of its batch, and the other files of the batch."""
    with open(os.path.join(build, "compile_commands.json"),
              encoding="utf-8") as file:
        entries = json.load(file)
    result = {}
    for entry in entries:
        unit = os.path.join(entry["directory"], entry["file"])
        words = shlex.split(entry["command"])
        batch = files_of(unit)
        for path in batch or [entry["file"]]:
            real = os.path.realpath(os.path.join(entry["directory"], path))
            result[real] = ([path if word == entry["file"] else word for word in words],
                            [other for other in batch if other != path])
    return result
