#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU: judges both baselines of the single-GPU workloads there. Needs
# build/gpu-bundle (bench/gpu/bundle.sh). Writes $OUT/gpu.txt and $OUT/*.json.
set -uo pipefail
cd "$(dirname "$0")/../.."
OUT=${OUT:-/tmp}
bundle=$PWD/build/gpu-bundle
mkdir -p /usr/local/lib/cuco-bundle && cp "$bundle"/lib/*.so* /usr/local/lib/cuco-bundle/
echo /usr/local/lib/cuco-bundle > /etc/ld.so.conf.d/cuco-bundle.conf && ldconfig
export XDG_CACHE_HOME=/tmp/cuco-cache
{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  "$bundle/bin/cuco" --version
  for workload in silu_and_mul fused_add_rmsnorm merge_attn_states; do
    for program in program production; do
      echo "== $workload $program"
      timeout 150 "$bundle/bin/cuco" judge --own --on gpu "workloads/$workload" "workloads/$workload/$program.cu" 2>&1
      echo "exit $?"
    done
  done
} 2>&1 | tee "$OUT/gpu.txt"
