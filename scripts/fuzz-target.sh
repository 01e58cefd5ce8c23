#!/usr/bin/env bash
# One coverage-guided target for LOCKSTEP_FUZZ_SECONDS (300), on its seeds and on
# what earlier runs have kept in FOLDER/corpus/TARGET. A crash, a hang of 10 s, a
# leak or more than 2 GiB is exit 1; the input lies in FOLDER/found.
#
#   scripts/fuzz-target.sh FOLDER TARGET [OP]    OP: whose cases `op` draws
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if (($# < 2)); then
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "scripts/fuzz-target.sh" >&2
  exit 2
fi
BUILD=$1 TARGET=$2 OP=${3:-}
NAME=$TARGET${OP:+-$OP}

# Seeds are text, one a line; an engine wants a file each.
seeds() { # seeds FOLDER
  local from=data/corpus/readers/$TARGET.lines n=0 line
  [[ $TARGET == case_grammar ]] && from=data/corpus/attention_forward.cases
  [[ -e $from ]] || return 0
  while IFS= read -r line; do
    [[ $line == \#* || -z $line ]] && continue
    n=$((n + 1))
    printf '%s' "$line" >"$1/seed-$n"
  done <"$from"
}

FOLDER=$BUILD/corpus/$NAME
mkdir -p "$FOLDER" "$BUILD/found"
seeds "$FOLDER"
[[ -n $OP ]] && export LOCKSTEP_FUZZ_OP=$OP
exec "$BUILD/bin/fuzz-$TARGET" "$FOLDER" -artifact_prefix="$BUILD/found/$NAME-" \
  -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=4096 \
  -max_total_time="${LOCKSTEP_FUZZ_SECONDS:-300}" -print_final_stats=1
