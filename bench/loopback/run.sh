#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Conformance and figures of loopback on the GPU of this machine, in under 8 minutes:
#
#     run.sh LIBRARY_FOLDER NCCL_INCLUDE RECORD.json [PROGRAM.cu…]
#
# LIBRARY_FOLDER has libnccl.so.2 of loopback; the programs after it are run on 2 and 4 ranks, too.
# Needs nvcc. Prints every run, and writes one record.
set -u
library=$(cd "$1" && pwd)
include=$2
record=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
tests=$here/../../tests/e2e/nccl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$library/libnccl.so.2" "$work/libnccl.so"
ln -s "$library/libnccl.so.2" "$work/libcuco_loopback_preload.so"

flags=(-std=c++20 -arch=native -O2 --extended-lambda -DNCCL_GIN_GDAKI_ENABLE=0 -cudart shared
  -I"$include" -L"$work" -lnccl)
for source in "$tests"/{collectives,types,graphs,threads,lsa,gin}.cu "$here"/{measure,behaviour}.cu \
  "$@"; do
  {
    nvcc "${flags[@]}" -o "$work/$(basename "$source" .cu)" "$source" >"$work/log" 2>&1 ||
      echo "does not build: $source"
  } &
done
wait
echo "built in $SECONDS s"

export LD_LIBRARY_PATH=$library:${LD_LIBRARY_PATH:-}
results=()
failed=0
# expect STATUS NAME RANKS VARIABLES… -- PROGRAM ARGUMENTS…
expect() {
  local status=$1 name=$2 ranks=$3 variables=() shown=ok
  shift 3
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  local program=$1
  shift
  env CUCO_LOOPBACK_RANKS="$ranks" CUCO_LOOPBACK_WATCHDOG=5 "${variables[@]}" \
    LD_PRELOAD="$library/libnccl.so.2" timeout 60 "$work/$program" "$@" >"$work/out" 2>&1
  local rc=$?
  if [ $rc != "$status" ]; then
    shown=failed
    failed=$((failed + 1))
  fi
  echo "$shown: $name, $ranks ranks (status $rc)"
  [ $shown = ok ] || tail -12 "$work/out" | cut -c1-300
  results+=("{\"test\": \"$name\", \"ranks\": $ranks, \"status\": $rc, \"ok\": $([ $shown = ok ] && echo true || echo false)}")
}

for ranks in 2 4 8; do
  for program in collectives types graphs threads; do expect 0 $program $ranks -- $program; done
  for part in gather reduce small; do expect 0 lsa_$part $ranks -- lsa $part; done
  for part in alltoall ring values barrier; do expect 0 gin_$part $ranks -- gin $part; done
  for part in order full graph; do expect 0 $part $ranks -- behaviour $part; done
done
for source in "$@"; do
  name=$(basename "$source" .cu)
  for ranks in 2 4; do expect 0 "$name" $ranks -- "$name"; done
done

# Refused or ended, with the reason.
for part in signal collective setup; do
  expect 86 stuck_$part 4 -- behaviour $part
  sed 's/^/    /' "$work/out" | head -12
done
expect 3 too_many_ranks 200 -- behaviour order
sed 's/^/    /' "$work/out" | tail -1
expect 1 multimem 2 -- lsa multimem
sed 's/^/    /' "$work/out" | head -1

link() { printf '%s_bytes_per_s=50000000000\n%s_latency_ps=2000000\n' "$1" "$1"; }
{
  printf 'name=ib50\nnodes=8\ngpus_per_node=1\ndomain=world\nnic=1\nnic_gap_ps=10000\ngin_post_ps=1000000\n'
  link load_store
  link nic
  link host
} >"$work/network"
figures=()
# figures_of PREFIX RANKS VARIABLES… -- ARGUMENTS…
figures_of() {
  local prefix=$1
  shift
  expect 0 "measure_$prefix" "$1" "${@:2}"
  while read -r _ name value unit; do
    echo "    $name $value $unit"
    figures+=("{\"figure\": \"${prefix}_$name\", \"value\": $value, \"unit\": \"$unit\"}")
  done < <(grep '^figure ' "$work/out")
}
figures_of unpaced 4 -- measure unpaced
figures_of unpaced8 8 -- measure unpaced
: >"$work/report"
figures_of paced_50GBps 4 CUCO_LOOPBACK_TOPOLOGY="$work/network" CUCO_LOOPBACK_REPORT="$work/report" -- measure paced
cat "$work/report"
figures_of delayed_20ms 4 CUCO_LOOPBACK_DELAY_US=20000 -- measure paced

join() { local IFS=,; echo "$*"; }
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)
{
  printf '{"date": "%s", "gpu": "%s", "driver": "%s", ' "$(date -u +%F)" "${gpu%%,*}" "${gpu##*, }"
  printf '"cuda": "%s", ' "$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
  printf '"conditions": "one GPU, ranks are threads of one process, no other load; medians of 5 to 9; paced: 50 GB/s, 2 us latency, 1 us to post",\n'
  printf ' "pacing": [%s],\n' "$(paste -sd, "$work/report")"
  printf ' "figures": [\n  %s],\n' "$(join "${figures[@]}" | sed 's/},{/},\n  {/g')"
  printf ' "tests": [\n  %s]}\n' "$(join "${results[@]}" | sed 's/},{/},\n  {/g')"
} >"$record"
echo "$((${#results[@]} - failed)) of ${#results[@]} as expected, $SECONDS s"
exit $((failed > 0))
