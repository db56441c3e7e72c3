#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# On a machine with a GPU: judges the single-GPU workloads there, in full: both baselines, the
# hand-written solutions, and a cheat that leaves work running. Needs build/gpu-bundle
# (bench/gpu/bundle.sh). Writes $OUT/gpu.txt and $OUT/*.json.
#   run.sh [WORKLOAD…]
set -uo pipefail
cd "$(dirname "$0")/../.."
OUT=${OUT:-/tmp}
bundle=$PWD/build/gpu-bundle
mkdir -p /usr/local/lib/cuco-bundle && cp "$bundle"/lib/*.so* /usr/local/lib/cuco-bundle/
echo /usr/local/lib/cuco-bundle > /etc/ld.so.conf.d/cuco-bundle.conf && ldconfig
export XDG_CACHE_HOME=/tmp/cuco-cache
[ $# -gt 0 ] || set -- silu_and_mul fused_add_rmsnorm merge_attn_states
judge() {
  echo "== $2"
  SECONDS=0
  timeout 280 "$bundle/bin/cuco" judge --on gpu "workloads/$1" "$2" 2>&1
  echo "exit $?, $SECONDS s"
}
{
  nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
  "$bundle/bin/cuco" --version
  bench/gpu/left_running.sh >/tmp/left_running.cu
  for workload in "$@"; do
    for program in "workloads/$workload/program.cu" "workloads/$workload/production.cu" "tests/solutions/$workload"/*.cu; do
      judge "$workload" "$program"
    done
    [ "$workload" = silu_and_mul ] && judge silu_and_mul /tmp/left_running.cu
  done
} 2>&1 | tee "$OUT/gpu.txt"
