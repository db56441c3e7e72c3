#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# For whoever has a GPU: what loopback does there, as JSON under bench/results/, in under 8 minutes.
# First the library's own figures (bench/loopback/run.sh), then the four distributed workloads. Needs nvcc,
# NCCL and a cuco with its loopback library: $CUCO, the bundle of bench/gpu/bundle.sh, or build/release.
#   record.sh [NETWORK…]      (default: none, and roce2x4)
set -uo pipefail
cd "$(dirname "$0")/../.."
for cuco in "${CUCO:-}" build/gpu-bundle/bin/cuco build/release/bin/cuco; do
  [ -x "$cuco" ] && break
done
[ -x "$cuco" ] || { echo "record: no cuco; build it, or say where it is: CUCO=…" >&2; exit 3; }
[ $# -gt 0 ] || set -- none roce2x4
OUT=${OUT:-bench/results}
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1 | tr ' A-Z' '-a-z')
status=0
library=$(dirname "$cuco")/../lib/cuco/loopback
for include in "${NCCL_HOME:+$NCCL_HOME/include}" /usr/local/cuda/include /usr/include; do
  [ -f "$include/nccl.h" ] && break
done
timeout 120 bench/loopback/run.sh "$library" "$include" "$OUT/loopback-${gpu:-no-gpu}.json" || status=1
timeout 340 python3 bench/loopback/designs.py "$cuco" --network "$(IFS=,; echo "$*")" --seconds 280 --starts \
  --out "$OUT/loopback-designs-${gpu:-no-gpu}.json" ${PREDICTED:+--predicted "$PREDICTED"} || status=1
exit $status
