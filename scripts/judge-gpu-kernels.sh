#!/usr/bin/env bash
# Judges kernels on the GPU of this machine and writes docs/gpu-kernels.md, in eight
# minutes and without a network:
#
#   scripts/judge-gpu-kernels.sh [--interpreted] [--budget SECONDS] [--page]
#
# --interpreted  without a GPU: the Triton kernel alone, under Triton's interpreter
# --budget N     seconds for each kernel (12)
# --page         judges nothing: writes the page of the results in build/gpu
#
# LOCKSTEP_GPU_PYTHON is a Python with torch, triton and jax as they are installed there
# (python3). TORCH_MAMBA is where mamba-ssm's source lies unpacked.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build release lockstep lockstep-fuzz lockstep-host
PYTHON=$(command -v "${LOCKSTEP_GPU_PYTHON:-python3}")
LOCKSTEP_PYTHON=$PYTHON PYTHONPATH=python:python/examples OMP_NUM_THREADS=1 \
  exec "$PYTHON" scripts/judge_gpu_kernels.py "$@"
