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

# network_file NAME BYTES_PER_S LATENCY_PS GAP_PS POST_PS
network_file() {
  printf 'name=%s\nnodes=8\ngpus_per_node=1\ndomain=world\nnic=1\nnic_gap_ps=%s\ngin_post_ps=%s\n' "$1" "$4" "$5"
  local link
  for link in load_store nic host; do printf '%s_bytes_per_s=%s\n%s_latency_ps=%s\n' $link "$2" $link "$3"; done
}
network_file plain 50000000000 2000000 10000 1000000 >"$work/plain"
network_file ib 47000000000 2500000 50000 5000000 >"$work/ib"
figures=()
pacing=()
# figures_of PREFIX RANKS VARIABLES… -- ARGUMENTS…
figures_of() {
  local prefix=$1
  shift
  : >"$work/report"
  expect 0 "measure_$prefix" "$1" CUCO_LOOPBACK_REPORT="$work/report" "${@:2}"
  while read -r _ name value unit; do
    echo "    $name $value $unit"
    figures+=("{\"figure\": \"${prefix}_$name\", \"value\": $value, \"unit\": \"$unit\"}")
  done < <(grep '^figure ' "$work/out")
  grep -q '"pacing"' "$work/report" || return
  pacing+=("{\"run\": \"$prefix\", \"ranks\": [$(paste -sd, "$work/report")]}")
  grep -o '"pacing": {[^}]*}' "$work/report" | head -2 | sed 's/^/    /'
}
figures_of unpaced 4 -- measure unpaced
figures_of unpaced8 8 -- measure unpaced
figures_of unpaced_small 4 -- measure small
figures_of paced_50GBps 4 CUCO_LOOPBACK_TOPOLOGY="$work/plain" -- measure paced
figures_of paced_ib_small 4 CUCO_LOOPBACK_TOPOLOGY="$work/ib" -- measure small
figures_of paced_50GBps_small 4 CUCO_LOOPBACK_TOPOLOGY="$work/plain" -- measure small
figures_of paced_ib_collectives 4 CUCO_LOOPBACK_TOPOLOGY="$work/ib" -- measure collectives
figures_of unpaced_collectives 4 -- measure collectives
figures_of delayed_20ms 4 CUCO_LOOPBACK_DELAY_US=20000 -- measure paced

join() { local IFS=,; echo "$*"; }
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)
{
  printf '{"date": "%s", "gpu": "%s", "driver": "%s", ' "$(date -u +%F)" "${gpu%%,*}" "${gpu##*, }"
  printf '"cuda": "%s", ' "$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
  printf '"conditions": "one GPU, ranks are threads of one process, no other load; medians of 5 to 9; paced_50GBps: 2 us latency, 1 us to post; paced_ib: 47 GB/s, 2.5 us latency, 5 us to post",\n'
  printf ' "pacing": [%s],\n' "$(join "${pacing[@]}")"
  printf ' "figures": [\n  %s],\n' "$(join "${figures[@]}" | sed 's/},{/},\n  {/g')"
  printf ' "tests": [\n  %s]}\n' "$(join "${results[@]}" | sed 's/},{/},\n  {/g')"
} >"$record"
echo "$((${#results[@]} - failed)) of ${#results[@]} as expected, $SECONDS s"
exit $((failed > 0))
