// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs as a trace for chrome://tracing and ui.perfetto.dev: who did what when, in virtual time.
///
/// Host processes and GPUs are the processes of the trace. A host process has a row per thread with
/// its calls. A GPU has a row per stream with kernels, copies and collectives; a row per source
/// line at which its kernels waited; a row per peer for what they stored there, loaded from there
/// and put there; and marks where puts arrived. What overlaps in time gets further rows of the same
/// name. Arrows lead from a store or put to the wait that it ended.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "system/os/files.h"

namespace cuco::targets {

/// As the source has it: demangled, without parameters.
[[nodiscard]] std::string kernel_name(const std::string& mangled);

struct TracedRun {
  std::string name;           ///< Tells runs of one trace apart; empty: it is the only one.
  std::string report;         ///< See vcluster/watch/run_report.h.
  std::int64_t begin_ps = 0;  ///< When the trace begins; what was over by then is left out.
};

[[nodiscard]] Result<Json> trace_of(std::span<const TracedRun> runs);
[[nodiscard]] Result<void> write_trace(std::span<const TracedRun> runs, const system::Path& file);

/// Before anything is run for it: InvalidInput where no trace (or whatever it is) can be written.
[[nodiscard]] Result<void> check_trace_file(const system::Path& file,
                                            std::string_view what = "timeline");

}  // namespace cuco::targets
