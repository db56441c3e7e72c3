// SPDX-License-Identifier: Apache-2.0
/// \file
/// What a run did, as JSON: kernels per source line, when each launch ran and what it polled, and
/// when what was sent arrived. Times are picoseconds of virtual time.
///
///     {"gpu": "h200",
///      "kernels": [{"name", "launches", "blocks", "time_ps", "thread_instructions",
///                   "warp_instructions", "by_class": {...}, "global_loads", "global_stores",
///                   "atomics", "sectors", "l1_hit_sectors", "l2_hit_sectors", "hbm_bytes",
///                   "bank_conflicts", "divergent_branches", "barriers", "waiting_ps",
///                   "lines": [{"file", "line", "threads", "warps", "by_class": {...},
///                              "global_accesses", "global_bytes", "sectors", "ideal_sectors",
///                              "shared_accesses", "bank_conflicts", "barriers", "load_wait_ps",
///                              "poll_wait_ps", "barrier_wait_ps"}]}],
///      "phases": [{"kernel", "device", "started_ps", "finished_ps",
///                  "warp_time_ps", "load_wait_ps", "poll_wait_ps", "barrier_wait_ps",
///                  "waits": [{"file", "line", "polls", "waited_ps", "first_ps", "last_ps",
///                             "addresses": [...], "repeated", "accept_the_last"}]}],
///      "works": [{"what", "device", "stream", "started_ps", "finished_ps"}],
///      "transfers": 12, "wire_bytes": 4096,
///      "deliveries": [{"address", "bytes", "sent_ps", "arrived_ps", "is_completion", "from",
///      "to"}], "timeline": {
///        "calls": [{"process", "rank", "thread", "name", "wait", "started_ps", "finished_ps",
///                   "times"}],
///        "places": [{"device", "kernel", "file", "line"}],
///        "waits": [{"place", "from_ps", "to_ps", "times"}],
///        "traffic": [{"place", "peer", "is_load", "from_ps", "to_ps", "bytes"}],
///        "arrows": [{"delivery", "from", "sent_ps", "to", "seen_ps"}]},
///      "blocks": see record/block_record.h}
///
/// A phase is a launch, as its device saw it; a work is anything that a stream was given: kernels,
/// copies, collectives, each from when its turn had come. Transfers are all that the links carried
/// between GPUs, and wire_bytes how much that was (see fabric::Fabric); deliveries are those that
/// kernels sent, and the completions that they can poll. Timeline and blocks are there where they
/// were asked for: see timeline_log.h. `place`, and `from` and `to` of an arrow, count in places;
/// `delivery` counts in deliveries.
#pragma once

#include <string>
#include <vector>

#include "vcluster/core/work.h"
#include "vgpu/timing/kernel_profile.h"

namespace cuco::vcluster {

class TimelineLog;
struct BlockRecord;

struct RunRecord {
  std::string gpu;
  const vgpu::Profiler& profiler;
  const std::vector<FinishedWork>& works;
  std::uint64_t transfers = 0;
  double wire_bytes = 0;
  const std::vector<vgpu::Delivery>* deliveries = nullptr;  ///< Null: neither these nor addresses.
  const TimelineLog* timeline = nullptr;
  const BlockRecord* blocks = nullptr;
};

[[nodiscard]] std::string report_of(const RunRecord& record);

}  // namespace cuco::vcluster
