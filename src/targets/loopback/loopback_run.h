// SPDX-License-Identifier: Apache-2.0
/// \file
/// A program whose N ranks share one real GPU: the machine's CUDA runtime and driver, and a
/// libnccl.so.2 of ours that connects the ranks. Ranks are threads of one process, each on
/// multiprocessors of its own, or processes under mpirun and a Multi-Process Service of our own.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "fabric/topology.h"
#include "targets/loopback/loopback_report.h"
#include "targets/real/real_run.h"

namespace cuco::targets {

struct LoopbackOptions {
  int ranks = 1;
  bool uses_mpi = false;
  /// Of exactly `ranks` GPUs: puts and collectives take the time they take there. Absent: none of
  /// it is paced.
  std::optional<fabric::Topology> network = {};
  std::int64_t watchdog_seconds = 0;   ///< Without progress; then who waits for what is named.
  std::int64_t delay_us = 0;           ///< Every delivery comes so much later: a probe.
  std::vector<std::string> tool = {};  ///< In front of the program, such as compute-sanitizer.

  /// One rank has nobody to share a GPU with.
  [[nodiscard]] bool are_processes() const { return uses_mpi && ranks > 1; }
};

/// Folders that a run needs.
struct LoopbackPlaces {
  system::Path libraries = {};     ///< Ours.
  system::Path cuda_runtime = {};  ///< The machine's libcudart; empty: the loader finds it.
  system::Path work = {};          ///< Of this run: network, sockets, report.
  bool hides_machine = false;      ///< The program fixes where it looks for libraries.
};

/// The command that starts it, and what it sees.
[[nodiscard]] RealStart loopback_start(const LoopbackOptions& options,
                                       const LoopbackPlaces& places,
                                       const std::vector<std::string>& program,
                                       system::Environment environment);

struct LoopbackRun {
  KeptReal run;  ///< The output only where it was kept.
  double seconds = 0;
  LoopbackReport report;
};

/// Runs it with these streams; without any its output is kept.
[[nodiscard]] Result<LoopbackRun> run_on_loopback(const LoopbackOptions& options,
                                                  const std::vector<std::string>& program,
                                                  const std::function<bool()>& interrupted,
                                                  const std::optional<RunStreams>& streams);

}  // namespace cuco::targets
