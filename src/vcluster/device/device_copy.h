// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies and fills: which way the bytes go, how long it takes, and moving them.
#pragma once

#include "vcluster/core/operation.h"

namespace cuco::vcluster {

[[nodiscard]] WorkPtr make_copy_work(const OperationParts& parts,
                                     Context& context,
                                     CopyOperation copy);
[[nodiscard]] WorkPtr make_fill_work(const OperationParts& parts,
                                     Context& context,
                                     FillOperation fill);

}  // namespace cuco::vcluster
