// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies and fills: which way the bytes go, how long it takes, and moving them.
#pragma once

#include "vcluster/core/operation.h"

namespace cuco::vcluster {

[[nodiscard]] WorkPtr make_copy_work(Cluster& cluster, Context& context, CopyOperation copy);
[[nodiscard]] WorkPtr make_fill_work(Cluster& cluster, Context& context, FillOperation fill);

}  // namespace cuco::vcluster
