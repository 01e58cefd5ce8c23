#!/usr/bin/env bash
# Coverage-guided fuzzing of everything that reads foreign bytes: the case and
# mask grammars, safetensors, JSON, profiles; and of the ops themselves. libFuzzer
# under address and undefined-behaviour sanitizers, as many targets at once as
# there are cores. A crash, a hang of 10 s, a leak or more than 2 GiB fails its
# target, which names the input.
#
#   scripts/fuzz-readers.sh [SECONDS [REGEX]]   default: 300 each, all
#
# The same for 1200 seconds each: ctest --preset nightly-fuzz, once this has built.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "scripts/fuzz-readers.sh"
    exit 0
    ;;
esac
phase "build fuzz" build fuzz fuzzers
LOCKSTEP_FUZZ_SECONDS=${1:-300} ctest --preset fuzz -R "${2:-.}" --no-tests=error
