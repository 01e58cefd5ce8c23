#!/usr/bin/env bash
#SBATCH --job-name=lockstep-fuzz
#SBATCH --array=0-63
#SBATCH --cpus-per-task=1
#SBATCH --time=02:00:00
#SBATCH --requeue
# One shard per task; a task that is killed or requeued takes up its own file.
#   sbatch docs/campaigns/slurm.sh
#   lockstep campaign merge "$SCRATCH/lockstep" --out merged.ndjson
lockstep fuzz attention_forward --budget 10000000cases --seed 1 \
  --shard auto --out "$SCRATCH/lockstep"
