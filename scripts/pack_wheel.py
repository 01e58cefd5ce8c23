#!/usr/bin/env python3
"""Packs wheels of a tree that scripts/zig.sh built, and checks them:
pack_wheel.py PLACE PROCESSOR OUT.

PLACE is build/wheels/PROCESSOR. A wheel that needs another library than those of
manylinux, exports more than the one function of the extension, or is larger than
25 MB is not written.
"""
import hashlib
import importlib.metadata
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The tag of Python and interface, by the component of python/CMakeLists.txt.
TAGS = {"cp311": "cp311-cp311", "cp312-abi3": "cp312-abi3"}
MOST_BYTES = 25_000_000
# What is compiled into the programs, by the package of Debian or Python whose notice
# is copied.
FROM_DEBIAN = ("libcli11-dev", "nlohmann-json3-dev", "librandom123-dev", "libxsimd-dev",
               "libtomlplusplus-dev", "libxxhash-dev")
FROM_SOURCE = ("highway",)


def run(*words):
    done = subprocess.run([str(word) for word in words], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"pack_wheel: {' '.join(map(str, words))}\n{done.stdout}")
    return done.stdout


def metadata(folder):
    """The dist-info folder as the build's backend writes it."""
    from scikit_build_core.build import prepare_metadata_for_build_wheel
    os.chdir(ROOT)
    return folder / prepare_metadata_for_build_wheel(str(folder))


def components(sources):
    """(name, version, file of the notice) of everything that is linked in."""
    for package in FROM_DEBIAN:
        version = run("dpkg-query", "-W", "-f", "${Version}", package)
        yield package, version, pathlib.Path("/usr/share/doc", package, "copyright")
    for package in FROM_SOURCE:
        changes = (sources / package / "debian/changelog").read_text(encoding="utf-8")
        version = re.match(r".*?\((.*?)\)", changes)[1]
        yield package, version, sources / package / "debian/copyright"
    for package in ("nanobind", "ziglang"):
        found = importlib.metadata.distribution(package)
        names = [f for f in found.files if re.search(
            r"(licenses/LICENSE|lib/libcxx/LICENSE\.TXT)$", str(f))]
        yield package, found.version, pathlib.Path(names[0].locate())


def add_notices(info, sources):
    """Licences, and the list of parts as CycloneDX."""
    licenses = info / "licenses"
    licenses.mkdir(exist_ok=True)
    shutil.copy(ROOT / "LICENSE", licenses)
    parts = []
    for name, version, notice in components(sources):
        shutil.copy(notice, licenses / f"{name}.txt")
        parts.append({"type": "library", "name": name, "version": version})
    (info / "sboms").mkdir()
    (info / "sboms/lockstep.cdx.json").write_text(json.dumps(
        {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1,
         "components": parts}, indent=1) + "\n", encoding="utf-8")


def check(wheel, extension, processor):
    """What users and other libraries of their processes rely on."""
    if wheel.stat().st_size > MOST_BYTES:
        sys.exit(f"pack_wheel: {wheel.name} has {wheel.stat().st_size} bytes, "
                 f"want at most {MOST_BYTES}")
    exported = [line.split()[-1].split("@")[0]
                for line in run("nm", "-D", "--defined-only", extension).splitlines()
                if " A " not in line]
    if exported != ["PyInit__native"]:
        sys.exit(f"pack_wheel: {extension} exports {' '.join(exported)}, "
                 "want PyInit__native alone")
    said = run(sys.executable, "-m", "auditwheel", "show", wheel)
    newest = [int(n) for n in re.findall(r'tag:\s+"manylinux_2_(\d+)_', said)]
    if not newest or newest[0] > 28:
        sys.exit(f"pack_wheel: {wheel.name} is no manylinux_2_28:\n{said}")
    print(f"{wheel.name}: {wheel.stat().st_size} bytes, manylinux_2_{newest[0]}_{processor}")


def pack(place, processor, component, out):
    tag = f"{TAGS[component]}-manylinux_2_28_{processor}"
    with tempfile.TemporaryDirectory() as scratch:
        stage = pathlib.Path(scratch, "stage")
        for part in ("python", component):
            run("cmake", "--install", place / "build", "--component", part, "--prefix", stage)
        for package in ("lockstep", "lockstep_verify"):
            shutil.copytree(ROOT / "python" / package, stage / package, dirs_exist_ok=True,
                            ignore=shutil.ignore_patterns("__pycache__"))
        info = metadata(stage)
        (info / "WHEEL").write_text(
            "Wheel-Version: 1.0\nGenerator: lockstep pack_wheel\n"
            f"Root-Is-Purelib: false\nTag: {tag}\n", encoding="utf-8")
        add_notices(info, place.parent / "sources")
        run(sys.executable, "-m", "wheel", "pack", stage, "--dest-dir", scratch)
        wheel, = pathlib.Path(scratch).glob("*.whl")
        check(wheel, next((stage / "lockstep").glob("_native*.so")), processor)
        shutil.copy(wheel, out)


def main(place, processor, out):
    out = pathlib.Path(out).resolve()
    out.mkdir(exist_ok=True)
    # Two makers of a version have the same bytes.
    os.environ.setdefault("SOURCE_DATE_EPOCH", run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip())
    for component in TAGS:
        pack(pathlib.Path(place).resolve(), processor, component, out)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n"
            for file in sorted(out.glob("*.whl"))]
    (out / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
