#!/usr/bin/env python3
"""Makes a wheel with pip, installs it into a fresh environment and runs its tests
there: run_package.py FOLDER. Exits with 77, and says so, where the index of packages
cannot be reached."""
import glob
import os
import shutil
import subprocess
import sys
import tomllib
import venv

SOURCE = os.environ["LOCKSTEP_SOURCE"]
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


def main():
    folder = os.path.abspath(sys.argv[1])
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
    with open(os.path.join(SOURCE, "pyproject.toml"), "rb") as file:
        project = tomllib.load(file)
    needed = (project["build-system"]["requires"] + project["project"]["dependencies"] +
              project["project"]["optional-dependencies"]["test"])
    install = [python, "-m", "pip", "install", "--quiet"]
    if subprocess.run(install + needed, env=environment, check=False).returncode:
        print("skipped: pip cannot get " + " ".join(needed))
        return 77
    # The build's own environment is this one: nothing is fetched twice.
    environment["PATH"] = os.path.join(place, "bin") + os.pathsep + environment["PATH"]
    wheels = os.path.join(folder, "wheels")
    shutil.rmtree(wheels, ignore_errors=True)
    # As deep as the tree that has built the programs, so that ccache knows what is
    # compiled alike: all but reference/contract/team.cc.
    subprocess.run([python, "-m", "pip", "wheel", "--quiet", "--no-deps",
                    "--no-build-isolation", "--wheel-dir", wheels,
                    "-C", "build-dir=build/release-python", SOURCE],
                   env=environment, check=True)
    wheel, = glob.glob(os.path.join(wheels, "lockstep-*.whl"))
    subprocess.run(install + ["--no-deps", wheel], env=environment, check=True)
    lend_public(place)
    # Elsewhere, so that nothing can lean on the checkout's own folders.
    return subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "pytester",
         *(os.path.join(HERE, name + "_test.py")
           for name in ("package", "plugin", "backward", "pages"))],
        cwd=folder, check=False,
        env={**environment, "LOCKSTEP_SOURCE": SOURCE, "LOCKSTEP_WHEEL": wheel}).returncode


if __name__ == "__main__":
    sys.exit(main())
