#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The open questions of decision 14, answered on the GPU of this machine: mps.sh [PROBE]
# PROBE: mps_probe.cu, built; without it nvcc builds it.
set -u
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/cuco-mps-XXXXXX)
chmod 755 "$work"
probe=${1:-$work/probe}
[ -x "$probe" ] || nvcc -std=c++20 -arch=native -o "$probe" "$here/mps_probe.cu" -lcuda || exit 3
command -v nvidia-cuda-mps-control >/dev/null || { echo "mps: there is no nvidia-cuda-mps-control" >&2; exit 3; }
# service NAME OPTIONS… -- COMMAND…: the command with a service of its own
service() {
  local name=$1 options=()
  shift
  while [ "$1" != -- ]; do options+=("$1"); shift; done
  shift
  export CUDA_MPS_PIPE_DIRECTORY=$work/$name CUDA_MPS_LOG_DIRECTORY=$work/$name-log
  mkdir -p "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
  chmod 777 "$CUDA_MPS_PIPE_DIRECTORY" "$CUDA_MPS_LOG_DIRECTORY"
  timeout 60 nvidia-cuda-mps-control -d "${options[@]}" || echo "{\"service\": \"$name\", \"starts\": false}"
  while [ $# -gt 0 ]; do
    local words
    read -ra words <<<"$1"
    echo "-- $name: $1"
    timeout 20 "$probe" "${words[@]}" || echo "{\"service\": \"$name\", \"probe\": \"$1\", \"exit\": $?}"
    shift
  done
  echo quit | timeout 10 nvidia-cuda-mps-control
  grep -hiE "error|fail|user" "$CUDA_MPS_LOG_DIRECTORY"/*.log | tail -6
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}
echo "-- no service: occupy"; timeout 20 "$probe" occupy
echo "-- no service: occupy beside"; timeout 20 "$probe" occupy beside
echo "-- no service: handles"; timeout 20 "$probe" handles
service one_user -- "occupy" "occupy beside" "handles" "users 65534"
service partitions -- "partitions 2" "partitions 4" "partitions 8"
service many_users -multiuser-server -- "users 65534" "occupy beside"
rm -rf "$work"
