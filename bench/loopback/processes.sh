#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Conformance and figures of loopback on the GPU of this machine where ranks are processes:
#
#     processes.sh LIBRARY_FOLDER NCCL_INCLUDE RECORD.json
#
# LIBRARY_FOLDER has libnccl.so.2 and cuco-loopback-network. Needs nvcc, mpirun with its headers and
# nvidia-cuda-mps-control. What cuco run --on loopback does for an MPI program is done by hand here.
set -u
library=$(cd "$1" && pwd)
include=$2
record=$3
here=$(cd "$(dirname "$0")" && pwd)
tests=$here/../../tests/e2e/nccl
work=$(mktemp -d /tmp/cuco-processes-XXXXXX)
trap 'rm -rf "$work"' EXIT
ln -s "$library/libnccl.so.2" "$work/libnccl.so"

read -ra mpi <<<"$(mpicxx --showme:compile 2>/dev/null) $(mpicxx --showme:link 2>/dev/null)"
flags=(-std=c++20 -arch=native -O2 --extended-lambda -DNCCL_GIN_GDAKI_ENABLE=0 -cudart shared
  -I"$include" -L"$work" -lnccl)
for flag in "${mpi[@]}"; do
  case $flag in
    -Wl,*) flags+=(-Xlinker "${flag#-Wl,}") ;;
    -pthread) flags+=(-Xcompiler -pthread) ;;
    *) flags+=("$flag") ;;
  esac
done
for source in "$tests"/{processes_mpi,mpi}.cu "$here"/measure_mpi.cu; do
  name=$(basename "$source" .cu)
  { nvcc "${flags[@]}" -o "$work/$name" "$source" >"$work/log-$name" 2>&1 ||
    { echo "does not build: $source"; head -5 "$work/log-$name"; }; } &
done
wait
echo "built in $SECONDS s"

export LD_LIBRARY_PATH=$library:${LD_LIBRARY_PATH:-} CUDA_MODULE_LOADING=EAGER CUDA_DEVICE_MAX_CONNECTIONS=8
results=()
failed=0
# expect STATUS NAME RANKS VARIABLES… -- PROGRAM ARGUMENTS…
expect() {
  local status=$1 name=$2 ranks=$3 variables=() shown=ok
  shift 3
  while [ "$1" != -- ]; do variables+=("$1"); shift; done
  shift
  local program=$1 run
  shift
  run=$(mktemp -d "$work/run-XXXXXX")
  mkdir "$run/pipes" "$run/logs"
  mkfifo "$run/in"
  variables+=(CUCO_LOOPBACK_RANKS="$ranks" CUCO_LOOPBACK_DIR="$run" CUCO_LOOPBACK_REPORT="$run/report"
    CUCO_LOOPBACK_WATCHDOG=5 CUDA_MPS_PIPE_DIRECTORY="$run/pipes" CUDA_MPS_LOG_DIRECTORY="$run/logs")
  env "${variables[@]}" timeout 20 nvidia-cuda-mps-control -d
  env "${variables[@]}" timeout 100 "$library/cuco-loopback-network" <"$run/in" 2>"$run/said" &
  local network=$!
  exec 9>"$run/in"
  env "${variables[@]}" timeout "${CUCO_PATIENCE:-60}" mpirun --allow-run-as-root --oversubscribe --bind-to none -n "$ranks" \
    -x LD_PRELOAD="$library/libnccl.so.2" "$work/$program" "$@" >"$run/out" 2>&1
  local rc=$?
  exec 9>&-
  wait $network
  echo quit | env "${variables[@]}" timeout 10 nvidia-cuda-mps-control
  if [ $rc != "$status" ]; then
    shown=failed
    failed=$((failed + 1))
  fi
  echo "$shown: $name, $ranks processes (status $rc)"
  sed 's/^/    /' "$run/said" | head -20 | cut -c1-300
  [ $shown = ok ] || grep -v '^$' "$run/out" | head -14 | cut -c1-300
  cp "$run/out" "$work/out"
  cp "$run/report" "$work/report" 2>/dev/null || : >"$work/report"
  results+=("{\"test\": \"$name\", \"ranks\": $ranks, \"status\": $rc, \"ok\": $([ $shown = ok ] && echo true || echo false)}")
}

# network_file NAME BYTES_PER_S LATENCY_PS GAP_PS POST_PS
network_file() {
  printf 'name=%s\nnodes=8\ngpus_per_node=1\ndomain=world\nnic=1\nnic_gap_ps=%s\ngin_post_ps=%s\n' "$1" "$4" "$5"
  local link
  for link in load_store nic host; do printf '%s_bytes_per_s=%s\n%s_latency_ps=%s\n' $link "$2" $link "$3"; done
}
network_file plain 50000000000 2000000 10000 1000000 >"$work/plain"

for ranks in ${CUCO_RANKS:-2 4 8}; do
  expect 0 processes "$ranks" -- processes_mpi
  expect 0 mpi "$ranks" -- mpi
done
# Ended, with the reason.
expect 86 hangs 4 -- processes_mpi hangs
expect 1 dies 4 -- processes_mpi dies
figures=()
pacing=()
# figures_of PREFIX RANKS VARIABLES… -- ARGUMENTS…
figures_of() {
  local prefix=$1
  shift
  expect 0 "measure_$prefix" "$@"
  while read -r _ name value unit; do
    echo "    $name $value $unit"
    figures+=("{\"figure\": \"${prefix}_$name\", \"value\": $value, \"unit\": \"$unit\"}")
  done < <(grep '^figure ' "$work/out")
  pacing+=("{\"run\": \"$prefix\", \"ranks\": [$(grep '"rank"' "$work/report" | paste -sd,)]}")
  head -2 "$work/report" | sed 's/^/    /'
}
figures_of unpaced 4 -- measure_mpi unpaced
figures_of unpaced8 8 -- measure_mpi unpaced
figures_of paced_50GBps 4 CUCO_LOOPBACK_TOPOLOGY="$work/plain" -- measure_mpi paced

join() { local IFS=,; echo "$*"; }
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader)
{
  printf '{"date": "%s", "gpu": "%s", "driver": "%s", ' "$(date -u +%F)" "${gpu%%,*}" "${gpu##*, }"
  printf '"cuda": "%s", ' "$(nvcc --version | sed -n 's/.*release \([0-9.]*\).*/\1/p')"
  printf '"conditions": "one GPU, ranks are processes under mpirun and a Multi-Process Service, no other load; medians of 5 to 9; paced_50GBps: 2 us latency, 1 us to post",\n'
  printf ' "pacing": [%s],\n' "$(join "${pacing[@]}")"
  printf ' "figures": [\n  %s],\n' "$(join "${figures[@]}" | sed 's/},{/},\n  {/g')"
  printf ' "tests": [\n  %s]}\n' "$(join "${results[@]}" | sed 's/},{/},\n  {/g')"
} >"$record"
echo "$((${#results[@]} - failed)) of ${#results[@]} as expected, $SECONDS s"
exit $((failed > 0))
