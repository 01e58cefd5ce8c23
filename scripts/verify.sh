#!/usr/bin/env bash
# From a fresh clone to a verdict: installs what is missing and builds lockstep into
# build/release/bin/, without its siblings for fuzzing and timing. Then it judges the
# smoke cases, the cases on captured tensors of a real model and every regression.
# It exits with the code of `lockstep verify`.
#
#   scripts/verify.sh [OPTION...]     options are passed on to `lockstep verify`
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "scripts/verify.sh"
    exit 0
    ;;
esac

scripts/install-deps.sh
phase "build release" build release lockstep
printf '\n'
exec build/release/bin/lockstep verify --cases data/cases/smoke.cases \
  --cases data/cases/captured.cases \
  --cases data/regressions/builtin.optimized.cases "$@"
