// SPDX-License-Identifier: Apache-2.0
#include "hardware/scale_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"

namespace cuco::hardware {
namespace {

using Cycles = std::uint32_t GpuDescription::*;

constexpr std::array kLatencies{
    &GpuDescription::alu_latency,     &GpuDescription::double_latency,
    &GpuDescription::special_latency, &GpuDescription::shared_latency,
    &GpuDescription::l1_latency,      &GpuDescription::l2_latency,
    &GpuDescription::hbm_latency,     &GpuDescription::atomic_latency,
    &GpuDescription::barrier_latency, &GpuDescription::tensor_latency,
    &GpuDescription::fence_cta,       &GpuDescription::fence_gpu,
    &GpuDescription::fence_sys,
};

constexpr std::array kTensorRates{
    &GpuDescription::tensor_f16_tflops, &GpuDescription::tensor_tf32_tflops,
    &GpuDescription::tensor_f64_tflops, &GpuDescription::tensor_s8_tops,
    &GpuDescription::tensor_f8_tflops,
};

}  // namespace

GpuDescription divided(GpuDescription gpu, const Divisor& by) {
  CUCO_ASSERT(by.math >= 1 && by.memory >= 1 && by.links >= 1);
  if (by == Divisor{}) return gpu;
  const double wanted = gpu.sms / by.math;
  gpu.sms = static_cast<std::uint32_t>(std::max(1.0, std::round(wanted)));
  const double faster = wanted / gpu.sms;
  gpu.clock_ghz *= faster;
  for (const Cycles latency : kLatencies)
    gpu.*latency = static_cast<std::uint32_t>(std::llround(gpu.*latency * faster));
  gpu.block_start_cycles *= faster;
  for (const auto rate : kTensorRates)
    gpu.*rate /= by.math;
  gpu.l2_gbs /= by.math;
  gpu.l2_write_gbs /= by.math;
  gpu.l2_part_gops /= by.math;
  // One word is a resource of the whole GPU: a fraction of the blocks must keep it as busy.
  gpu.atomic_word_ns *= by.math;
  gpu.atomic_float_word_ns *= by.math;
  gpu.atomic_clash_ns *= by.math;
  gpu.block_ns *= by.math;  // So is whoever hands out blocks.
  gpu.hbm_gbs /= by.memory;
  gpu.memory_clock_ghz /= by.memory;
  gpu.l2_bytes = static_cast<std::uint64_t>(static_cast<double>(gpu.l2_bytes) / by.memory);
  gpu.l2_reach = static_cast<std::uint64_t>(static_cast<double>(gpu.l2_reach) / by.memory);
  gpu.nccl.bytes_scale = by.links;
  gpu.nccl.sms_scale = by.math;
  gpu.native_tensor = true;
  return gpu;
}

std::string to_text(const Divisor& divisor) {
  return fmt::format("{},{},{}", divisor.math, divisor.memory, divisor.links);
}

Result<Divisor> parse_divisor(std::string_view text) {
  std::array<double, 3> parts{};
  const std::string whole(text);
  const auto words = split(whole, ',');
  bool good = words.size() == parts.size();
  for (std::size_t i = 0; good && i < parts.size(); ++i) {
    const auto [end, error] =
        std::from_chars(words[i].data(), words[i].data() + words[i].size(), parts[i]);
    good = error == std::errc() && end == words[i].data() + words[i].size() && parts[i] >= 1 &&
           std::isfinite(parts[i]);
  }
  if (good) return Divisor{parts[0], parts[1], parts[2]};
  return Error{ErrorKind::InvalidInput,
               fmt::format("no divisor: '{}' (math,memory,links, each at least 1)", text)};
}

}  // namespace cuco::hardware
