// SPDX-License-Identifier: Apache-2.0
#include "vcluster/core/cluster_schedule.h"

#include <fmt/format.h>

namespace cuco::vcluster {
namespace {

using vgpu::kMicrosecond;
using vgpu::kNanosecond;

/// One of a few magnitudes, none among them: bugs hide behind different delays.
VTime pick(Rng& rng, std::initializer_list<VTime> choices) {
  return choices.begin()[rng.below(choices.size())];
}

vgpu::Schedule make_gpu_schedule(Rng& rng) {
  vgpu::Schedule gpu;
  gpu.seed = rng.next() | 1U;
  gpu.shuffle_blocks = rng.below(4) != 0;
  gpu.launch_delay = pick(rng, {0, 20 * kMicrosecond, 1000 * kMicrosecond});
  gpu.block_delay = pick(rng, {200 * kNanosecond, 2 * kMicrosecond, 20 * kMicrosecond});
  gpu.stall = pick(rng, {500 * kNanosecond, 5 * kMicrosecond, 50 * kMicrosecond});
  gpu.stall_one_in = static_cast<std::uint32_t>(pick(rng, {4, 16, 64}));
  gpu.run_ahead = pick(rng, {100 * kNanosecond, 300 * kNanosecond, 1000 * kNanosecond});
  return gpu;
}

std::uint64_t mix(std::uint64_t seed, std::uint64_t a, std::uint64_t b, std::uint64_t c) {
  Rng rng(seed ^ a * 0x9E37'79B9'7F4A'7C15ULL);
  rng = Rng(rng.next() ^ b * 0xBF58'476D'1CE4'E5B9ULL);
  return Rng(rng.next() ^ c * 0x94D0'49BB'1331'11EBULL).next();
}

}  // namespace

Schedule make_schedule(std::uint64_t seed, std::uint32_t devices) {
  Schedule schedule;
  schedule.seed = seed;
  if (seed == 0) return schedule;
  Rng rng(seed ^ 0x5C4E'D07E'5EED'0001ULL);
  for (std::uint32_t device = 0; device < devices; ++device) {
    schedule.gpus.push_back(make_gpu_schedule(rng));
  }
  // One GPU far behind the others shows who does not wait for it to end.
  if (devices > 1 && rng.below(2) == 0) {
    schedule.gpus[rng.below(devices)].slowdown = static_cast<std::int32_t>(pick(rng, {4, 64}));
  }
  schedule.host_skew = pick(rng, {0, 20 * kMicrosecond, 300 * kMicrosecond});
  schedule.call_delay = pick(rng, {0, 1 * kMicrosecond, 30 * kMicrosecond});
  schedule.copy_delay = pick(rng, {0, 10 * kMicrosecond, 200 * kMicrosecond});
  schedule.delivery_delay = pick(rng, {5 * kMicrosecond, 100 * kMicrosecond, 2000 * kMicrosecond});
  schedule.early_sources = rng.below(2) == 0;
  schedule.stale_percent = static_cast<std::uint32_t>(pick(rng, {0, 10, 50}));
  return schedule;
}

std::string Schedule::describe() const {
  if (is_plain()) return "the plain schedule";
  std::string text = "blocks and warps in another order";
  for (std::size_t device = 0; device < gpus.size(); ++device) {
    if (gpus[device].slowdown > 1) {
      text += fmt::format(", GPU {} {} times slower", device, gpus[device].slowdown);
    }
  }
  const auto add = [&](const char* what, VTime most) {
    if (most > 0) text += fmt::format(", {} up to {} us late", what, most / kMicrosecond);
  };
  add("ranks", host_skew);
  add("calls", call_delay);
  add("copies", copy_delay);
  if (gpus.size() > 1) add("deliveries", delivery_delay);
  if (stale_percent > 0) text += fmt::format(", {} % of racing loads old", stale_percent);
  return text;
}

VTime Adversary::draw(Rng& rng, VTime most) {
  return most <= 0 ? 0 : static_cast<VTime>(rng.below(static_cast<std::uint64_t>(most) + 1));
}

VTime Adversary::host_skew(std::int32_t rank, std::uint32_t thread) const {
  Rng rng(mix(schedule_.seed, static_cast<std::uint64_t>(rank + 1), thread, 0));
  return draw(rng, schedule_.host_skew);
}

VTime Adversary::call_delay(std::int32_t rank, std::uint32_t thread, std::uint64_t call) const {
  Rng rng(mix(schedule_.seed, static_cast<std::uint64_t>(rank + 1), thread, call + 1));
  return rng.below(4) == 0 ? draw(rng, schedule_.call_delay) : 0;
}

}  // namespace cuco::vcluster
