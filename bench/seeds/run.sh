#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Times the seeds' kernels, and the single-GPU solutions and the expert's variants of them, on one real
# GPU: the figures in the workloads' READMEs. Needs nvcc and NCCL.
set -uo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 -O3 -gencode arch=compute_90,code=sm_90 -I "$root/include" ${NCCL_INCLUDE:+-I "$NCCL_INCLUDE"})
nvcc "${flags[@]}" -cudart shared "$root/bench/seeds/time_seed.cc" -o "$work/time_seed" -ldl -lnccl || exit 1
sources=("$root"/workloads/*/{program,production,naive}.cu)
for workload in silu_and_mul fused_add_rmsnorm merge_attn_states; do
  sources+=("$root/tests/solutions/$workload"/*.cu)
done
python3 "$root/bench/designs/variants.py" "$work/variants" >/dev/null
# What the expert finds today, as the golden tests keep it; other programs can be put beside them:
# FOUND=FOLDER has them as FOLDER/WORKLOAD/NAME.cu.
for workload in silu_and_mul fused_add_rmsnorm merge_attn_states; do
  cp "$root/tests/golden/kernels/$workload.cu" "$work/variants/$workload/found.cu"
  [ -z "${FOUND:-}" ] || cp "$FOUND/$workload"/*.cu "$work/variants/$workload/"
done
sources+=("$work"/variants/*/*.cu)
for source in "${sources[@]}"; do
  workload=$(basename "$(dirname "$source")")
  nvcc "${flags[@]}" -cudart shared -shared -Xcompiler -fPIC "$source" \
    -o "$work/$workload.$(basename "$source" .cu).so" -lnccl &
  while [ "$(jobs -rp | wc -l)" -ge 8 ]; do wait -n; done
done
mkdir "$work/oracles"
for oracle in "$root"/workloads/*/oracle.cpp; do
  g++ -std=c++20 -O2 -I "$root/include" -shared -fPIC "$oracle" \
    -o "$work/oracles/$(basename "$(dirname "$oracle")").so" &
done
nvcc "${flags[@]}" "$root/bench/seeds/time_copy.cu" -o "$work/time_copy" &
wait
exec > >(tee "${OUT:-$work}/seeds.txt") 2>&1
run() { # workload types params -- inputs -- outputs: all its programs in turns
  local params="${*:3}" programs
  echo "$1 ${params%% --*}"
  programs=$(printf '%s,' "$work/$1".*.so)
  "$work/time_seed" "${programs%,}" "$work/oracles/$1.so" "${@:2}" || echo "  (exit $?)"
}
for shape in "16 4096" "64 5120" "8192 14336"; do
  read -r tokens width <<<"$shape"
  run silu_and_mul bb $tokens $width 1 -- $((tokens * 2 * width)) -- $((tokens * width))
done
for shape in "16 4096" "64 7168" "16384 8192"; do
  read -r tokens hidden <<<"$shape"
  n=$((tokens * hidden))
  run fused_add_rmsnorm bbbbb $tokens $hidden 1 -- $n $n $hidden -- $n $n
done
for shape in "64 32" "256 16" "16384 32"; do
  read -r tokens heads <<<"$shape"
  rows=$((tokens * heads)); n=$((rows * 128))
  run merge_attn_states bfbfbf $tokens $heads 128 1 -- $n $rows $n $rows -- $n $rows
done
# What can be reached at the three prefill shapes: as many bytes read and written.
"$work/time_copy" $((8192 * 14336 * 2)) 2 1
"$work/time_copy" $((16384 * 8192 * 2)) 2 2
"$work/time_copy" $((16384 * 32 * 128 * 2)) 2 1
for bf16 in 0 1; do
  type=$([ $bf16 = 1 ] && echo bbbb || echo ffff)
  for shape in "256 64" "1024 32" "4096 64" "8192 64"; do
    read -r sequence size <<<"$shape"
    n=$((16 * sequence * size))
    run flash_attention_cp $type 16 $sequence $size $bf16 -- $n $n $n -- $n
  done
  # The last two: kv_transfer's full shapes, whose kernels are the same.
  for shape in "512 1024 256" "512 2048 4096" "2048 8192 8192" "2048 512 4096" "4096 1024 8192"; do
    read -r m n k <<<"$shape"
    run gemm_allgather ${type:0:3} $m $n $k $bf16 -- $((m * k)) $((k * n)) -- $((m * n))
  done
  # One rank's share of the experts; the exchange is with itself.
  for shape in "32 512 128 2 2 3" "128 7168 2048 8 8 1" "4096 7168 2048 4 2 2" "4096 7168 2048 4 2 5"; do
    read -r tokens hidden inter experts top skew <<<"$shape"
    t=${type:0:1}
    run moe_dispatch_combine $t$t${t}if$t $tokens $hidden $inter $experts $top $skew 0 $bf16 \
      -- $((tokens * hidden)) $((experts * hidden * 2 * inter)) $((experts * inter * hidden)) \
      $((tokens * top)) $((tokens * top)) -- $((tokens * hidden))
  done
done
