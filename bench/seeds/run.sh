#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times the seeds' kernels on one real GPU: the figures in the workloads' READMEs. Needs nvcc and NCCL.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 -O3 -gencode arch=compute_90,code=sm_90 -I "$root/include" ${NCCL_INCLUDE:+-I "$NCCL_INCLUDE"})
nvcc "${flags[@]}" -cudart shared "$root/bench/seeds/time_seed.cc" -o "$work/time_seed" -ldl -lnccl || exit 1
for source in "$root"/workloads/*/*.cu; do
  workload=$(basename "$(dirname "$source")")
  nvcc "${flags[@]}" -cudart shared -shared -Xcompiler -fPIC "$source" \
    -o "$work/$workload.$(basename "$source" .cu).so" -lnccl &
  while [ "$(jobs -rp | wc -l)" -ge 8 ]; do wait -n; done
done
for oracle in "$root"/workloads/*/oracle.cpp; do
  g++ -std=c++20 -O2 -I "$root/include" -shared -fPIC "$oracle" \
    -o "$work/$(basename "$(dirname "$oracle")").oracle.so" &
done
wait
run() { # workload program types params -- inputs -- outputs
  printf '%-20s %-11s %-28s ' "$1" "$2" "${*:4:4}"
  "$work/time_seed" "$work/$1.$2.so" "$work/$1.oracle.so" "${@:3}" || echo "  (exit $?)"
}
for version in program production; do
  for tokens in 16 64 8192; do
    width=$([ $tokens = 8192 ] && echo 14336 || echo 4096)
    run silu_and_mul $version bb $tokens $width 1 -- $((tokens * 2 * width)) -- $((tokens * width))
  done
  for tokens in 16 64 16384; do
    n=$((tokens * 4096))
    run fused_add_rmsnorm $version bbbbb $tokens 4096 1 -- $n $n 4096 -- $n $n
  done
  for tokens in 64 256 16384; do
    rows=$((tokens * 32)); n=$((rows * 128))
    run merge_attn_states $version bfbfbf $tokens 32 128 1 -- $n $rows $n $rows -- $n $rows
  done
done
for bf16 in 0 1; do
  type=$([ $bf16 = 1 ] && echo bbbb || echo ffff)
  for sequence in 256 4096; do
    n=$((16 * sequence * 64))
    run flash_attention_cp program $type 16 $sequence 64 $bf16 -- $n $n $n -- $n
  done
  for shape in "512 1024 256" "512 2048 4096" "2048 8192 8192"; do
    read -r m n k <<<"$shape"
    run gemm_allgather program ${type:0:3} $m $n $k $bf16 -- $((m * k)) $((k * n)) -- $((m * n))
  done
done
