#!/usr/bin/env bash
# Judges kernels of public libraries and writes docs/public-kernels.md:
#
#   scripts/judge-public-kernels.sh [--cases N] [--page] [--claims] [KERNEL]...
#
# --cases N   at most N lines of the corpora and N drawn cases for each kernel, instead
#             of what scripts/judge_public_kernels.py says; for a first look
# --claims    tries claims alone, of NumPy, torch SDPA and FlexAttention, some minutes:
#             writes their section of the page
# --page      judges nothing: writes the page of the results in build/public
# KERNEL      only these (numpy_f32, sdpa_bf16, ...), for a page that is written later;
#             defects runs the reproductions that need no Lockstep
#
# The first run makes build/public/venv, or the LOCKSTEP_PUBLIC_VENV that does not
# exist yet: 1.5 GB of downloads at most, 3 GB of disk, some minutes. Judging all takes
# hours on two cores, most of them for kernels that are compiled or interpreted.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

PUBLIC=$PWD/build/public
VENV=${LOCKSTEP_PUBLIC_VENV:-$PUBLIC/venv}
PINS=scripts/public-kernels.txt
MAMBA=mamba-ssm==2.3.2.post1
mkdir -p "$PUBLIC"

stop() {
  printf 'judge-public-kernels: %s\n' "$1" >&2
  exit 2
}

install() {
  local free
  free=$(df --output=avail -BG "$PUBLIC" | tail -n 1 | tr -dc 0-9)
  ((free >= 6)) || stop "$PUBLIC has $free GB free, want 6"
  printf 'installing into %s; its log is %s\n' "$VENV" "$PUBLIC/install.log"
  rm -f "$VENV/ready"
  {
    python3 -m venv "$VENV" &&
      "$VENV/bin/pip" install --timeout 20 --retries 1 -r "$PINS" &&
      mkdir -p "$VENV/src" &&
      # Its source is all that is wanted: nothing of it is built.
      MAMBA_SKIP_CUDA_BUILD=TRUE "$VENV/bin/pip" download --timeout 20 --retries 1 --no-deps \
        --no-binary :all: --no-build-isolation -d "$VENV/src" "$MAMBA" &&
      tar -xzf "$VENV"/src/mamba_ssm-*.tar.gz -C "$VENV/src" --strip-components=1 &&
      cp "$PINS" "$VENV/ready"
  } >"$PUBLIC/install.log" 2>&1 ||
    stop "cannot install (no network, or an index without these versions?): $(
      grep -i error "$PUBLIC/install.log" | tail -n 1)"
}

cmp -s "$PINS" "$VENV/ready" || install
build release lockstep lockstep-fuzz lockstep-host
"${CC:-cc}" -O2 -std=c99 -fPIC -shared -I verify/host/include -o "$PUBLIC/ggml_style.so" \
  python/examples/ggml_style.c -lm
LOCKSTEP_PUBLIC_VENV=$VENV LOCKSTEP_PYTHON=$VENV/bin/python PYTHONPATH=python \
  TRITON_MAMBA_SSM=$VENV/src OMP_NUM_THREADS=1 \
  exec "$VENV/bin/python" scripts/judge_public_kernels.py "$@"
