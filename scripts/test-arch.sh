#!/usr/bin/env bash
# The same bits on another processor: builds for it with the compiler of the wheels and
# runs that under qemu.
#
#   scripts/test-arch.sh aarch64 [goldens|all|wheel]
#
#   goldens  every digest of data/golden/, by the reference and by NEON; and whether
#            lockstep and lockstep-fuzz compile and judge the smoke cases (default)
#   all      and data/cases/ci.cases, the unit tests of optimized/, ten minutes of fuzzing
#   wheel    the wheel in dist/ with Debian's Python: ci.cases by bits, a kernel of NumPy
#
# Installs qemu-aarch64-static (Debian's qemu-user-static) where it is missing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source scripts/debian.sh

PLACE=$PWD/build/wheels/aarch64
ROOT=$PLACE/root
FUZZ=${LOCKSTEP_FUZZ_BUDGET:-600s}

say() { printf '%s\n' "$*"; }
die() {
  printf 'test-arch: error: %s\n' "$*" >&2
  exit 1
}

# What runs programs of the processor: all that qemu knows, bf16 dots among it.
emulated() { qemu-aarch64-static -cpu max -L "$ROOT" "$@"; }

# A folder with Debian's C library and Python for the processor.
make_root() {
  [[ -e $ROOT/made ]] && return
  LOG=$PLACE/packages/root/log
  mkdir -p "${LOG%/*}"
  open_archive "${LOG%/*}" deb arm64 "$(debian_release)"
  unpack_closure "${LOG%/*}" "$ROOT" libstdc++6 python3
  touch "$ROOT/made"
}

build() { scripts/zig.sh build aarch64 "$@"; }

goldens() {
  build golden_test lockstep lockstep-fuzz
  make_root
  local tests=$PLACE/build/tests/bin/golden_test part
  # Every core a part; a part that fails fails all.
  local -a parts=()
  for ((part = 0; part < JOBS; ++part)); do
    GTEST_TOTAL_SHARDS=$JOBS GTEST_SHARD_INDEX=$part emulated "$tests" --gtest_brief=1 &
    parts+=($!)
  done
  for part in "${parts[@]}"; do wait "$part"; done
  emulated "$PLACE/build/bin/lockstep" verify --cases data/cases/smoke.cases
  emulated "$PLACE/build/bin/lockstep-fuzz" fuzz --budget 20cases
}

all() {
  goldens
  local name
  local -a names
  read -ra names <<<"$(sed -n 's/^ *lockstep_add_test($//;s/.*lockstep_add_test(\(optimized_[a-z0-9_]*\).*/\1/p' \
    tests/optimized/CMakeLists.txt | paste -sd ' ')"
  build "${names[@]}"
  for name in "${names[@]}"; do
    say "$name"
    emulated "$PLACE/build/tests/bin/$name" --gtest_brief=1
  done
  emulated "$PLACE/build/bin/lockstep" verify --cases data/cases/ci.cases
  emulated "$PLACE/build/bin/lockstep-fuzz" fuzz --budget "$FUZZ"
}

# The kernel starts a Python of the processor: without binfmt_misc the system cannot, so
# that each program is a script that starts qemu.
install_wheel() {
  local site=$PLACE/site program
  rm -rf "$site"
  python3 -m pip install --quiet --disable-pip-version-check --target "$site" \
    --platform manylinux_2_28_aarch64 --platform manylinux_2_17_aarch64 \
    --python-version 3.11 --implementation cp --only-binary=:all: \
    --find-links dist pytest "lockstep-verify==$(sed -n 's/^ *VERSION //p' CMakeLists.txt)"
  for program in "$site"/lockstep/bin/*; do
    mv "$program" "$program.aarch64"
    printf '#!/bin/sh\nexec qemu-aarch64-static -cpu max -L "%s" -0 "$0" "%s" "$@"\n' \
      "$ROOT" "$program.aarch64" >"$program"
    chmod +x "$program"
  done
  printf '#!/bin/sh\nexec qemu-aarch64-static -cpu max -L "%s" -E PYTHONHOME="%s/usr" "%s/usr/bin/python3.11" "$@"\n' \
    "$ROOT" "$ROOT" "$ROOT" >"$PLACE/python3"
  chmod +x "$PLACE/python3"
}

wheel() {
  make_root
  install_wheel
  export LOCKSTEP_PYTHON=$PLACE/python3 PYTHONPATH=$PLACE/site
  local lockstep=$PLACE/site/lockstep/bin/lockstep
  "$lockstep" verify --cases data/cases/ci.cases
  python3 tests/data/program_golden.py "$lockstep"
  LOCKSTEP_SOURCE=$PWD "$PLACE/python3" -m pytest -q -p no:cacheprovider \
    tests/python/package_test.py -k "exact_bits or refus or case or block_plan or dlpack"
  "$lockstep" verify --candidate py:python/examples/numpy_attention.py:attend \
    --profile from-candidate \
    'attention_forward hq=4 hkv=2 sq=37 skv=129 d=64 cap=50 mask=causal'
}

case ${1:-} in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "scripts/test-arch.sh"
    exit 0
    ;;
  aarch64) ;;
  *) die "want the processor aarch64" ;;
esac
if ! command -v qemu-aarch64-static >/dev/null; then
  sudo=()
  ((EUID == 0)) || sudo=(sudo)
  "${sudo[@]}" apt-get install --yes --quiet qemu-user-static >/dev/null ||
    die "apt-get cannot install qemu-user-static"
fi
case ${2:-goldens} in
  goldens | all | wheel) "${2:-goldens}" ;;
  *) die "there is no part '$2'; want goldens, all or wheel" ;;
esac
