#!/usr/bin/env python3
"""Makes a wheel with pip, or takes one, installs it into a fresh environment and runs
its tests there: run_package.py FOLDER [WHEEL]. Exits with 77, and says so, where the
index of packages cannot be reached."""
import glob
import os
import shutil
import subprocess
import sys
import tomllib
import venv

SOURCE = os.path.abspath(os.environ["LOCKSTEP_SOURCE"])
HERE = os.path.dirname(os.path.abspath(__file__))


def lend_public(place):
    """torch and JAX of LOCKSTEP_PUBLIC_VENV, where it has them for this Python: behind
    what is installed here."""
    public = os.environ.get("LOCKSTEP_PUBLIC_VENV")
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    packages = os.path.join(public or "", "lib", version, "site-packages")
    if public and os.path.isdir(packages):
        own = os.path.join(place, "lib", version, "site-packages", "zz_public.pth")
        with open(own, "w", encoding="utf-8") as file:
            file.write(packages + "\n")


def project():
    with open(os.path.join(SOURCE, "pyproject.toml"), "rb") as file:
        return tomllib.load(file)


def build(folder, python, environment):
    """The wheel of the checkout. Its libraries are those of the programs, by ccache:
    the folder is as deep as the tree that has built them, so that ccache knows what is
    compiled alike, all but reference/contract/team.cc."""
    wheels = os.path.join(folder, "wheels")
    shutil.rmtree(wheels, ignore_errors=True)
    # The build's own environment is this one: nothing is fetched twice.
    subprocess.run([python, "-m", "pip", "wheel", "--quiet", "--no-deps",
                    "--no-build-isolation", "--wheel-dir", wheels,
                    "--config-settings", "build-dir=build/release-python", SOURCE],
                   env=environment, check=True)
    wheel, = glob.glob(os.path.join(wheels, "lockstep_verify-*.whl"))
    return wheel


def without_compilers(folder):
    """A folder of the system's programs but those that compile."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    compilers = ("cc", "c++", "c89", "c99", "gcc", "g++", "clang", "cpp", "ld", "lld",
                 "cmake", "ninja", "make", "zig", "ccache")
    for program in glob.glob("/usr/bin/*"):
        name = os.path.basename(program)
        if not any(word == name or word + "-" in name for word in compilers):
            os.symlink(program, os.path.join(folder, name))
    return folder


def main():
    folder = os.path.abspath(sys.argv[1])
    given = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
    place = os.path.join(folder, "venv")
    shutil.rmtree(place, ignore_errors=True)
    venv.create(place, with_pip=True)
    python = os.path.join(place, "bin", "python")
    # What one checkout compiled serves the next one, wherever that lies.
    environment = {**os.environ, "CCACHE_BASEDIR": SOURCE, "CCACHE_NOHASHDIR": "1",
                   "CCACHE_SLOPPINESS": "pch_defines,time_macros",
                   "CCACHE_PCH_EXTSUM": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    for name in ("PYTHONPATH", "LOCKSTEP_PROGRAM", "LOCKSTEP_PYTHON"):
        environment.pop(name, None)
    path = without_compilers(os.path.join(folder, "bin")) if given else os.environ["PATH"]
    environment["PATH"] = os.path.join(place, "bin") + os.pathsep + path
    asked = project()["project"]
    needed = asked["dependencies"] + asked["optional-dependencies"]["test"]
    if not given:
        needed += project()["build-system"]["requires"]
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run(install + needed, env=environment, check=False).returncode:
        print("skipped: pip cannot get " + " ".join(needed))
        return 77
    wheel = given or build(folder, python, environment)
    subprocess.run(install + ["--no-deps", wheel], env=environment, check=True)
    lend_public(place)
    environment.update(LOCKSTEP_SOURCE=SOURCE, LOCKSTEP_WHEEL=wheel)
    # Elsewhere, so that nothing can lean on the checkout's own folders.
    code = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytester",
         *(os.path.join(HERE, name + "_test.py")
           for name in ("package", "wheel", "plugin", "backward", "pages"))],
        cwd=folder, check=False, env=environment).returncode
    # The steps of the action, which has an environment of its own.
    environment["PATH"] = path
    return code or subprocess.run(
        [sys.executable, os.path.join(SOURCE, "tests/cli/workflow_test.py")],
        cwd=SOURCE, check=False, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
