// SPDX-License-Identifier: Apache-2.0
/// \file
/// Virtual GPUs as a judge's target: a server of our own, and the judge's connection to it.
#pragma once

#include <cstdint>
#include <memory>

#include "base/result.h"
#include "hardware/scale_model.h"
#include "system/os/files.h"
#include "targets/target.h"

namespace cuco::targets {

struct VirtualSpec {
  system::Path gpu;           ///< Hardware description.
  system::Path topology;      ///< Topology description.
  hardware::Divisor divisor;  ///< A scale model of both; see hardware/scale_model.h.
  int ranks = 1;
  std::uint64_t seed = 0;
  std::uint64_t schedule_seed = 0;                 ///< 0: plain; others: adversarial.
  std::uint64_t memory = std::uint64_t{8} << 30U;  ///< That the server may use, devices' included.
  bool profile = false;                            ///< See Target::profile.
  bool timeline = false;                           ///< The profile has what a timeline shows.
  bool blocks = false;                             ///< And which blocks touch which bytes.
  bool check = false;  ///< Watch every access; see Target::findings. Many times slower.
};

[[nodiscard]] Result<std::unique_ptr<Target>> start_virtual_target(const VirtualSpec& spec);

}  // namespace cuco::targets
