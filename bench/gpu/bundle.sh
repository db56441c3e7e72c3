#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Puts the judge into build/gpu-bundle, with the libraries it needs, for a machine with a GPU and nvcc
# but without this project's packages. Data files are found in the checkout around it.
#   bench/gpu/bundle.sh [build/release]
set -euo pipefail
cd "$(dirname "$0")/../.."
build=${1:-build/release}
out=build/gpu-bundle
rm -rf "$out"
mkdir -p "$out/bin" "$out/lib/cuco"
echo "ranks on a GPU load the machine's own CUDA and NCCL" >"$out/lib/cuco/README"
for program in cuco cuco-jail cuco-oracle cuco-rank cuco-device; do
  strip -o "$out/bin/$program" "$build/bin/$program"
  # Not the C library and the compiler's own: those are the machine's.
  ldd "$build/bin/$program" | awk '$3 ~ /^\// {print $3}' |
    grep -v '/lib\(c\|m\|dl\|rt\|pthread\|stdc++\|gcc_s\)\.so' |
    while read -r library; do cp -Lf "$library" "$out/lib/"; done || true
done
# For cuco run --on loopback.
if [ -d "$build/lib/cuco/loopback" ]; then cp -rL "$build/lib/cuco/loopback" "$out/lib/cuco/"; fi
du -sh "$out"
