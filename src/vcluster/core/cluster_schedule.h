// SPDX-License-Identifier: Apache-2.0
/// \file
/// A schedule of the whole cluster, made from one 64-bit seed.
///
/// Seed 0 is the plain schedule: what the time model predicts. Any other seed is an adversarial
/// one: a machine that keeps the contracts of CUDA, PTX and NCCL and nothing beyond them. Blocks
/// and warps come in another order and stall, kernels and copies start and end late, ranks are
/// skewed, NIC deliveries are late and out of order, sources of puts are read early or late, stores
/// are seen late by those who did not synchronise. The same seed on the same program gives the same
/// run, bit for bit.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/rng.h"
#include "vcluster/core/timeline.h"
#include "vgpu/gpu/gpu_schedule.h"

namespace cuco::vcluster {

struct Schedule {
  std::uint64_t seed = 0;
  std::vector<vgpu::Schedule> gpus;  ///< By device; empty: all plain.
  VTime host_skew = 0;               ///< Threads begin up to so much late...
  VTime call_delay = 0;              ///< ...and every call takes up to so much longer.
  VTime copy_delay = 0;              ///< Copies and fills end up to so much late.
  VTime delivery_delay = 0;          ///< NIC deliveries and collectives, too.
  bool early_sources = false;        ///< Half of all puts read their source when they are issued.
  std::uint32_t stale_percent = 0;   ///< Loads that see an old value where the model allows it.

  [[nodiscard]] bool is_plain() const { return seed == 0; }
  /// One line for people: "blocks shuffled, GPU 1 64x slower, deliveries up to 200 us late".
  [[nodiscard]] std::string describe() const;
};

[[nodiscard]] Schedule make_schedule(std::uint64_t seed, std::uint32_t devices);

/// Draws from a schedule at run time. Draws in the order of the simulation come from one stream;
/// host threads, whose requests come in any order, have one each.
class Adversary {
 public:
  explicit Adversary(Schedule schedule) : schedule_(std::move(schedule)), rng_(schedule_.seed) {}

  [[nodiscard]] const Schedule& schedule() const { return schedule_; }
  [[nodiscard]] VTime copy_delay() { return draw(rng_, schedule_.copy_delay); }
  /// Of thread `thread` of rank `rank`, before its first call and before its `call`-th.
  [[nodiscard]] VTime host_skew(std::int32_t rank, std::uint32_t thread) const;
  [[nodiscard]] VTime call_delay(std::int32_t rank, std::uint32_t thread, std::uint64_t call) const;

 private:
  static VTime draw(Rng& rng, VTime most);
  Schedule schedule_;
  Rng rng_;
};

}  // namespace cuco::vcluster
