#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures launch gaps on one real GPU; needs nvcc only. Result: launch.json under $OUT, or here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nvcc -std=c++20 -O2 -gencode arch=compute_90,code=sm_90 "$root/bench/launch/launch.cu" -o "$work/launch"
"$work/launch" | tee "${OUT:-.}/launch.json"
