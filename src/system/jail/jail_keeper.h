// SPDX-License-Identifier: Apache-2.0
/// \file
/// The keeper: one process per job that watches it and survives none of it.
#pragma once

#include "base/result.h"
#include "system/jobs/job.h"
#include "system/os/fd.h"

namespace cuco::system::jail {

/// Runs the job to its end, or until `control` is closed at the other side. When it returns no
/// process of the job is left.
[[nodiscard]] JobOutcome keep(const JobSpec& spec, const Fd& control);

}  // namespace cuco::system::jail
