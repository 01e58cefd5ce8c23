#!/usr/bin/env bash
# Called by ClusterFuzzLite with CC, CXX, CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE
# set; programs and their seeds go to $OUT.
set -euo pipefail
cd "$SRC/lockstep"
cmake -S . -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DLOCKSTEP_LIBFUZZER=ON -DLOCKSTEP_ONE_TARGET=ON -DLOCKSTEP_BUILD_TESTS=OFF \
  -DLOCKSTEP_BUILD_BENCH=OFF -DLOCKSTEP_INSTALL=OFF
for target in case_grammar mask_grammar safetensors json profile op; do
  cmake --build "$WORK/build" --target "fuzz-$target"
  cp "$WORK/build/bin/fuzz-$target" "$OUT/"
  lines=data/corpus/readers/$target.lines
  [[ $target == case_grammar ]] && lines=data/corpus/attention_forward.cases
  [[ -e $lines ]] || continue
  seeds=$(mktemp -d)
  grep -v '^#' "$lines" | split -l 1 - "$seeds/seed-"
  zip -qj "$OUT/fuzz-${target}_seed_corpus.zip" "$seeds"/*
done
