// SPDX-License-Identifier: Apache-2.0
/// \file
/// A run as a trace for chrome://tracing and ui.perfetto.dev: what each GPU did when, in virtual
/// time.
///
/// Every GPU is a process of the trace, with rows for kernels, copies and collectives (more than
/// one where they overlap), a row per source line at which kernels waited, and what arrived there
/// from other GPUs. Arrows lead from an arrival to the wait that saw it.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "system/os/files.h"

namespace cuco::targets {

/// As the source has it: demangled, without parameters.
[[nodiscard]] std::string kernel_name(const std::string& mangled);

/// Of a report of vcluster/watch/run_report.h.
[[nodiscard]] Json trace_of(const Json& report);
[[nodiscard]] Result<void> write_trace(std::string_view report, const system::Path& file);

}  // namespace cuco::targets
