#!/usr/bin/env python3
"""The image of Containerfile, with the wheels of dist/: container_test.py FOLDER.

Builds and runs it with podman or docker, where one works. Elsewhere, as root with
debootstrap, it takes the recipe's steps in a folder that chroot makes a root. Exits with
77, and says so, where neither can be had."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CASE = "attention_forward hq=4 hkv=2 sq=37 skv=129 d=64 cap=50 mask=causal"
CERTIFICATES = os.environ.get("PIP_CERT", "/etc/ssl/certs/ca-certificates.crt")
# What names them to pip.
TRUST = ("PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
MOST_BYTES = 200_000_000


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=False, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)


def must(*words, **more):
    done = run(*words, **more)
    assert done.returncode == 0, f"{shlex.join(map(str, words))}\n{done.stdout}"
    return done.stdout


def engine():
    """podman or docker, if it can run something."""
    for name in ("podman", "docker"):
        if shutil.which(name) and run(name, "info").returncode == 0:
            return name
    return None


def by_engine(name):
    must(name, "build", "-q", "-t", "lockstep-test", ROOT)
    size = int(must(name, "image", "inspect", "--format", "{{.Size}}", "lockstep-test"))
    return size, lambda *words: run(name, "run", "--rm", "--network", "none",
                                    "lockstep-test", *words)


def steps():
    """(instruction, text) of the recipe, lines that go on joined."""
    text = re.sub(r"\\\n", " ", (ROOT / "Containerfile").read_text(encoding="utf-8"))
    for line in text.splitlines():
        if line and not line.startswith("#"):
            yield line.split(" ", 1)


def base(place, image):
    """A root like that of the image, with this machine's ways to its networks."""
    release = {"debian:12-slim": "bookworm"}[image]
    must("debootstrap", "--variant=minbase", release, place)
    for name in ("/etc/resolv.conf", "/etc/pip.conf"):
        if os.path.exists(name):
            shutil.copy(name, place / name[1:])
    if os.path.exists(CERTIFICATES):
        shutil.copy(CERTIFICATES, place / "etc/certificates")


def by_chroot(folder):
    place = folder / "root"
    variables, user, start = {}, "root", []
    for instruction, text in steps():
        if instruction == "FROM":
            base(place, text)
            before = bytes_below(place)
        elif instruction == "RUN":
            must("chroot", f"--userspec={user}", place, "/bin/sh", "-c", text,
                 env={**os.environ, **dict.fromkeys(TRUST, "/etc/certificates")})
        elif instruction == "COPY":
            *sources, target = text.split()
            target = place / target.lstrip("/")
            target.mkdir(parents=True)
            for found in (path for source in sources for path in ROOT.glob(source)):
                if found.is_dir():
                    shutil.copytree(found, target, dirs_exist_ok=True)
                else:
                    shutil.copy(found, target)
        elif instruction == "ENV":
            name, value = text.split("=", 1)
            variables[name] = value.replace("$PATH", "/usr/local/bin:/usr/bin:/bin")
        elif instruction == "USER":
            user = text
        elif instruction == "WORKDIR":
            (place / text.lstrip("/")).mkdir(exist_ok=True)
        elif instruction == "ENTRYPOINT":
            start = re.findall(r'"(.*?)"', text)
        else:
            raise AssertionError(f"the test does not know {instruction}")
    # debian:12-slim is 75 MB; debootstrap leaves more.
    size = 75_000_000 + bytes_below(place) - before
    must("mount", "--bind", "/proc", place / "proc")
    must("mount", "--bind", "/dev", place / "dev")
    return size, lambda *words: run(shutil.which("chroot"), f"--userspec={user}", place, *start, *words,
                                    env=variables)


def bytes_below(place):
    return int(must("du", "-sb", "--exclude=proc", "--exclude=dev", place).split()[0])


def main(folder):
    folder = pathlib.Path(folder).resolve()
    if not list((ROOT / "dist").glob("*.whl")):
        print("skipped: there are no wheels in dist/ (scripts/wheels.sh)")
        return 77
    name = engine()
    if not name and (os.geteuid() != 0 or not shutil.which("debootstrap")):
        print("skipped: neither podman nor docker works, and there is no debootstrap")
        return 77
    folder.mkdir(parents=True, exist_ok=True)
    try:
        size, start = by_engine(name) if name else by_chroot(folder)
        done = start("verify", CASE)
        assert done.returncode == 0, done.stdout
        assert "1 case: 1 pass" in done.stdout
        # The kernel's user, not root: peeking is excluded.
        assert "as root" not in done.stdout, done.stdout
        assert size <= MOST_BYTES, f"the image has {size} bytes, want {MOST_BYTES}"
        print(f"{name or 'chroot'}: {size} bytes\n{done.stdout}")
    finally:
        for mounted in ("proc", "dev"):
            if os.path.ismount(folder / "root" / mounted):
                must("umount", folder / "root" / mounted)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
