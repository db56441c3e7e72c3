// SPDX-License-Identifier: Apache-2.0
/// \file
/// Real GPUs as a place to judge on: whether that can be done here, and one judgement at a time.
#pragma once

#include <string>

#include "base/result.h"
#include "candidate/rung.h"
#include "system/os/fd.h"
#include "system/os/files.h"

namespace cuco::judge {

/// What is wanted of it.
struct RealWork {
  candidate::TargetKind on = candidate::TargetKind::Gpu;
  std::string name;  ///< The workload's, for messages.
  int ranks = 1;
};

/// Why candidates cannot be judged there, whatever the machine has; empty: they can. A place that
/// cannot keep the rules of a judgement is no place to judge on.
[[nodiscard]] Result<void> check_real_work(const RealWork& work);

/// This machine's GPU, nobody else's while this lives: two who measure at once measure each other.
struct RealPlace {
  std::string gpu;  ///< Its name.
  system::Fd lock;
};

/// `cache`: where the lock is; judgements with different caches do not see each other.
[[nodiscard]] Result<RealPlace> claim_real_gpu(const RealWork& work, const system::Path& cache);

/// The lock alone.
[[nodiscard]] Result<system::Fd> lock_gpu(const system::Path& cache);

}  // namespace cuco::judge
