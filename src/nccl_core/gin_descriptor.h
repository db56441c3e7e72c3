// SPDX-License-Identifier: Apache-2.0
/// \file
/// The 64-byte descriptor that a kernel posts to the GIN proxy queue, decoded (NCCL 2.28.9).
///
///     q0  bit 0 flag | 1-6 operation | 7-63 size
///     q1  1-63 source offset          or 8-55 value[47:0]
///     q2  1-63 source window          or 8-23 value[63:48]
///     q3  1-63 destination offset     q4  1-63 destination window
///     q5  8-23 counter | 24-39 signal | 40-55 signal value[15:0]
///     q6  8-23 signal value[31:16] | 24-55 signal value[63:32]
///     q7  reserved
///
/// Bit 0 of every word is the doorbell. All other bits are garbage.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

namespace cuco::nccl_core {

inline constexpr std::uint32_t kGinDescriptorBytes = 64;
using GinWords = std::array<std::uint64_t, 8>;

struct GinDescriptor {
  std::uint64_t bytes = 0;
  bool is_inline = false;
  std::uint64_t value = 0;  ///< The payload itself, when it is inline.
  std::uint64_t source_offset = 0, source_window = 0;
  std::uint64_t destination_offset = 0, destination_window = 0;
  std::optional<std::uint16_t> counter;
  std::optional<std::uint16_t> signal;
  std::uint64_t signal_value = 0;
};

/// Whether all eight words have been written.
[[nodiscard]] bool is_complete(const GinWords& words);
[[nodiscard]] GinDescriptor decode(const GinWords& words);
/// The inverse, for tests: what the device headers would post.
[[nodiscard]] GinWords encode(const GinDescriptor& descriptor);

}  // namespace cuco::nccl_core
