#!/usr/bin/env bash
# Makes the wheels of a release in dist/: for every Linux with glibc 2.28, for CPython
# 3.11 and, by its stable interface, for 3.12 and later.
#
#   scripts/wheels.sh [PROCESSOR...]   x86_64, aarch64; both where none is named
#
# Needs Debian 12 and a network. The compiler is that of scripts/wheels.txt, whichever
# processor this machine has. RELEASING.md says what they are for.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "scripts/wheels.sh"
    exit 0
    ;;
esac
processors=("$@")
((${#processors[@]})) || processors=(x86_64 aarch64)
for processor in "${processors[@]}"; do
  if [[ $processor != x86_64 && $processor != aarch64 ]]; then
    printf 'wheels: error: no wheel for %q; want x86_64 or aarch64\n' "$processor" >&2
    exit 2
  fi
done

scripts/install-deps.sh
for processor in "${processors[@]}"; do
  place=build/wheels/$processor
  mkdir -p "$place"
  phase "libraries for $processor" quietly "$place/libraries.log" \
    scripts/zig.sh libraries "$processor"
  phase "build for $processor" quietly "$place/build.log" \
    scripts/zig.sh build "$processor" lockstep lockstep-bench lockstep-fuzz \
    lockstep-host lockstep_python_cp311 lockstep_python_cp312-abi3
  phase "wheels for $processor" build/wheels/venv/bin/python scripts/pack_wheel.py \
    "$place" "$processor" dist
done
print_phases
