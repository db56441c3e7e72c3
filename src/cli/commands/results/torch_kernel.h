// SPDX-License-Identifier: Apache-2.0
/// \file
/// A workload as the PyTorch extension of its winner describes it.
#pragma once

#include "base/result.h"
#include "report/torch/torch_export.h"
#include "workload/workload.h"

namespace cuco::cli {

/// InvalidInput for a workload of several ranks.
[[nodiscard]] Result<report::TorchKernel> torch_kernel(const workload::Workload& workload);

}  // namespace cuco::cli
