#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records the conformance cases, runs the programs and calibrates, on a machine with a GPU.
# Needs nvcc and python3 only. usage: record.sh OUTPUT_FOLDER
set -uo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)
out=${1:?output folder}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c++20 -O2 -gencode arch=compute_90,code=sm_90 -I "$root/src" -I "$root/tests")

step() { echo "== $(date +%T) $*"; }

step build
mkdir -p "$out" "$work/programs"
nvcc "${flags[@]}" "$here/h200/record.cc" -o "$work/record" -lcuda &
nvcc "${flags[@]}" "$here/h200/calibrate.cu" -o "$work/calibrate" -lcuda &
for source in "$here"/programs/*.cu; do
  while [ "$(jobs -rp | wc -l)" -ge 14 ]; do wait -n; done
  nvcc "${flags[@]}" "$source" -o "$work/programs/$(basename "$source" .cu)" >"$work/$(basename "$source").log" 2>&1 &
done
wait

step record
python3 "$here/generate.py" "$work/cases"
{ echo "# driver $(nvidia-smi --query-gpu=driver_version --format=csv,noheader | head -1)"; } >"$work/driver"
timeout 200 "$work/record" "$work/cases" "$work/records.txt"
cat "$work/driver" "$work/records.txt" >"$out/records.txt"

step calibrate
timeout 100 "$work/calibrate" >"$out/calibration.json" || echo "calibrate: status $?"

step programs
for source in "$here"/programs/*.cu; do
  name=$(basename "$source" .cu)
  if [ -x "$work/programs/$name" ]; then
    timeout 30 "$work/programs/$name" >"$work/output" 2>&1
    echo "$name $? $(tail -1 "$work/output" | cut -c1-120)"
  else
    echo "$name build-failed"; head -5 "$work/$(basename "$source").log"
  fi
done | tee "$out/programs.txt"
step done
