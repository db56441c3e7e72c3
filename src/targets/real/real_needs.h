// SPDX-License-Identifier: Apache-2.0
/// \file
/// What programs on real GPUs need, and which of it a machine lacks. The judgement is pure: tested
/// with machines that do not exist.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "system/os/environment.h"
#include "system/os/files.h"
#include "targets/real/driver_facts.h"

namespace cuco::targets {

struct RealFacts {
  std::optional<DriverFacts> driver = {};
  bool nvcc = false;
  bool mpirun = false;
  bool mps_control = false;       ///< nvidia-cuda-mps-control
  bool loopback_library = false;  ///< See find_loopback_folder().
};

[[nodiscard]] RealFacts inspect_real(const system::Environment& environment);

/// What somebody wants to run.
struct RealWish {
  bool builds = true;     ///< The program is given as sources.
  bool uses_mpi = false;  ///< Its ranks are processes.
  int ranks = 1;
  bool knows_gpu = false;  ///< Which GPU to build for is known from a topology.
};

/// What is missing, and what to do, as one sentence; empty: nothing. On this machine's own GPUs,
/// with the machine's NCCL.
[[nodiscard]] std::string missing_for_gpus(const RealFacts& facts, const RealWish& wish);
/// Several ranks on one GPU of this machine; whether so many fit, the library says.
[[nodiscard]] std::string missing_for_loopback(const RealFacts& facts, const RealWish& wish);
/// The GPUs of other machines: this one need not have any.
[[nodiscard]] std::string missing_for_cluster(const RealFacts& facts, const RealWish& wish);

/// The folder of the libnccl.so.2 that connects ranks on one GPU.
[[nodiscard]] Result<system::Path> find_loopback_folder();
[[nodiscard]] Result<system::Path> find_mps_control(const system::Environment& environment);

}  // namespace cuco::targets
