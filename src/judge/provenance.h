// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the judge's verdicts are made with: contents by hash, tools by version.
#pragma once

#include "base/result.h"
#include "candidate/evaluator.h"
#include "system/os/files.h"
#include "toolchain/cuda_toolkit.h"

namespace cuco::judge {

/// The files that decide a verdict.
struct JudgedWith {
  system::Path workload;  ///< Folder.
  system::Path hardware;
  system::Path topology;
};

[[nodiscard]] Result<candidate::Provenance> provenance_of(const JudgedWith& files,
                                                          const toolchain::CudaToolkit& cuda);

}  // namespace cuco::judge
