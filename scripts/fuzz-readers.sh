#!/usr/bin/env bash
# Coverage-guided fuzzing of everything that reads foreign bytes: the case and
# mask grammars, safetensors, JSON, profiles; and of the op itself. libFuzzer
# under address and undefined-behaviour sanitizers, one target after another. A
# crash, a hang of 10 s, a leak or more than 2 GiB ends it with exit 1 and names
# the input.
#
#   scripts/fuzz-readers.sh [SECONDS [TARGET...]]   default: 300 each, all
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case ${1:-} in
  -h | --help)
    sed -n '2,/^source/{/^source/d;s/^# \{0,1\}//;p}' "scripts/fuzz-readers.sh"
    exit 0
    ;;
esac
SECONDS_EACH=${1:-300}
shift || true
TARGETS=("$@")
if ((${#TARGETS[@]} == 0)); then
  TARGETS=(case_grammar mask_grammar safetensors json profile op)
fi

# Seeds are text, one a line; an engine wants a file each.
seeds() { # seeds TARGET FOLDER
  local from=data/corpus/readers/$1.lines n=0 line
  [[ $1 == case_grammar ]] && from=data/corpus/attention_forward.cases
  [[ -e $from ]] || return 0
  while IFS= read -r line; do
    [[ $line == \#* || -z $line ]] && continue
    n=$((n + 1))
    printf '%s' "$line" >"$2/seed-$n"
  done <"$from"
}

phase "build fuzz" build fuzz "${TARGETS[@]/#/fuzz-}"
for target in "${TARGETS[@]}"; do
  folder=build/fuzz/corpus/$target
  mkdir -p "$folder" build/fuzz/found
  seeds "$target" "$folder"
  phase "$target" "build/fuzz/bin/fuzz-$target" "$folder" \
    -artifact_prefix="build/fuzz/found/$target-" -timeout=10 \
    -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=4096 \
    -max_total_time="$SECONDS_EACH" -print_final_stats=1 || true
done
print_phases
((${#PHASE_FAILED[@]} == 0))
