// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a program's ncclComm_t points to: one rank's handle and what the client knows without
/// asking the server.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "nccl_core/types.h"

/// A reduction made by ncclRedOpCreatePreMulSum.
struct CucoUserOp {
  bool is_live = false;
  cuco::nccl_core::DataType type{};
  std::array<std::byte, 8> scalar{};
  std::uint64_t scalar_address = 0;  ///< Not 0: read it there when the collective runs.
};

namespace cuco::nccl {
struct InFlight;
}

/// NCCL's name: programs only hold pointers to it.
struct ncclComm {  // NOLINT(readability-identifier-naming)
  std::uint64_t handle = 0;
  int rank = 0;
  int ranks = 0;
  int lsa_rank = 0;
  int lsa_size = 1;
  int device = 0;          ///< As the program counts.
  int cluster_device = 0;  ///< As the cluster counts.
  bool is_blocking = true;
  /// The group of a non-blocking communicator whose answers have not come; shared by all of its
  /// communicators.
  std::shared_ptr<cuco::nccl::InFlight> in_flight;
  /// How making it, or its last call in flight, failed.
  cuco::nccl_core::Code failed = cuco::nccl_core::Code::Success;
  std::string last_error;
  std::vector<CucoUserOp> user_ops;
};
