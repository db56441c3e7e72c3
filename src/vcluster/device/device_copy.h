// SPDX-License-Identifier: Apache-2.0
/// \file
/// Copies and fills: which way the bytes go, how long it takes, and moving them.
#pragma once

#include <optional>

#include "vcluster/core/operation.h"

namespace cuco::vcluster {

class Devices;

/// The device that this memory of the server is on; absent: host memory.
[[nodiscard]] std::optional<int> device_of(const Devices& devices, const wire::CopyEnd& end);

[[nodiscard]] WorkPtr make_copy_work(const OperationParts& parts,
                                     Context& context,
                                     CopyOperation copy);
[[nodiscard]] WorkPtr make_fill_work(const OperationParts& parts,
                                     Context& context,
                                     FillOperation fill);

}  // namespace cuco::vcluster
