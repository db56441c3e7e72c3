// SPDX-License-Identifier: Apache-2.0
/// \file
/// Runs litmus tests: a few threads of PTX, in one block, on one GPU or on several, under
/// adversarial schedules with weak memory; counts the outcomes.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hardware/gpu_description.h"
#include "vgpu/gpu/gpu.h"
#include "vgpu/memory/memory.h"
#include "vgpu/weak/weak_memory.h"

namespace cuco::vgpu {

/// Where the threads are: how far they are from each other.
enum class Placement { Block, Gpu, System };

/// Thread programs use %x, %y, %z (addresses), %d (data), %r0 to %r3 (results, 0 before).
struct Litmus {
  std::string name;
  Placement placement = Placement::Gpu;
  std::vector<std::string> threads;
  unsigned group = 1;  ///< Threads of a block, on one GPU.
};

/// %r0 to %r3 of every thread in turn, then x, y, z at the end.
using Outcome = std::vector<std::uint32_t>;

class LitmusRig {
 public:
  LitmusRig(const hardware::GpuDescription& gpu, Litmus litmus);

  /// Runs it so often, and counts each outcome.
  std::map<Outcome, int> run(int times, std::uint64_t seed);
  /// Runs it once on the plain schedule, with stores to other GPUs so much later; when it ended.
  VTime run_delayed(VTime remote_delay);

 private:
  void make_gpus(const WeakMemory::Settings& settings, const Schedule& schedule);
  Outcome run_once();
  void clear();

  Litmus litmus_;
  std::unique_ptr<Memory> memory_;
  std::vector<std::unique_ptr<Program>> programs_;
  std::vector<std::unique_ptr<Gpu>> gpus_;
  std::unique_ptr<WeakMemory> weak_;
  const hardware::GpuDescription& description_;
  Address variables_ = 0;
  Address results_ = 0;
  VTime now_ = 0;
};

}  // namespace cuco::vgpu
