// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a virtual cluster is made of, and what is wanted to know about the run.
#pragma once

#include <cstdint>

#include "fabric/fabric.h"
#include "hardware/gpu_description.h"
#include "system/os/files.h"
#include "vcluster/core/timeline.h"
#include "vcluster/record/input_variation.h"

namespace cuco::vcluster {

struct ClusterOptions {
  hardware::GpuDescription gpu;
  fabric::Topology topology = fabric::single_node(1);
  std::uint64_t seed = 0;
  /// Nothing moves before this many processes have said hello, and none of them is missed.
  std::uint32_t expected_processes = 1;
  std::uint64_t schedule_seed = 0;   ///< See cluster_schedule.h; 0: the plain schedule.
  VTime delivery_delay = 0;          ///< Every delivery between GPUs comes so much later: a probe.
  bool completions_on_time = false;  ///< But the sender learns that its source is free as ever.
  system::Path report;    ///< What kernels did, as JSON, when all is over: see run_report.h.
  system::Path copy_log;  ///< What came back from devices, one line per copy; empty: none.
  std::uint64_t keep_copies = 0;  ///< So many bytes of what came back are kept beside the log.
  InputVariation variation;       ///< Of what programs send to devices: see varied_inputs.h.
  bool timeline = false;          ///< The report has what a timeline shows: see timeline_log.h.
  bool blocks = false;            ///< The report has what blocks touch: see block_trace.h.
  bool check = false;             ///< Watch every access: see run_check.h.
};

}  // namespace cuco::vcluster
