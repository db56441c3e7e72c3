// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where input data comes from: keys that a candidate cannot know and a run can repeat.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "base/result.h"
#include "system/os/files.h"

namespace cuco::workload {

/// The machine's secret mixed with the run's seed; every key is derived from it by SHA-256.
class Secret {
 public:
  /// Reads the machine's secret from `folder`, making it (only for this user) if there is none.
  [[nodiscard]] static Result<Secret> load(const system::Path& folder, std::uint64_t run_seed);
  /// From a secret that is not the machine's: of a recorded run, or of a test.
  [[nodiscard]] static Secret from(std::string_view text, std::uint64_t run_seed);

  /// A key for one purpose: "input gemm_allgather/small fp32 iteration 2".
  [[nodiscard]] std::uint64_t key(std::string_view purpose) const;

 private:
  explicit Secret(Digest root) : root_(root) {}
  Digest root_;
};

}  // namespace cuco::workload
