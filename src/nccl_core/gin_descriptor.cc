// SPDX-License-Identifier: Apache-2.0
#include "nccl_core/gin_descriptor.h"

#include <algorithm>

namespace cuco::nccl_core {
namespace {

enum Operation : std::uint64_t {
  kPut = 1,
  kInline = 2,
  kCounter = 4,
  kSignalInc = 8,
  kSignalAdd = 16,
};

constexpr std::uint64_t bits(std::uint64_t word, unsigned low, unsigned count) {
  return (word >> low) & ((std::uint64_t{1} << count) - 1);
}

}  // namespace

bool is_complete(const GinWords& words) {
  return std::all_of(words.begin(), words.end(), [](std::uint64_t word) { return word & 1U; });
}

GinDescriptor decode(const GinWords& q) {
  GinDescriptor result;
  const std::uint64_t operation = bits(q[0], 1, 6);
  result.bytes = q[0] >> 7U;
  result.is_inline = (operation & kInline) != 0;
  if (result.is_inline) {
    result.value = bits(q[1], 8, 48) | bits(q[2], 8, 16) << 48U;
  } else {
    result.source_offset = q[1] >> 1U;
    result.source_window = q[2] >> 1U;
  }
  result.destination_offset = q[3] >> 1U;
  result.destination_window = q[4] >> 1U;
  if ((operation & kCounter) != 0) result.counter = static_cast<std::uint16_t>(bits(q[5], 8, 16));
  if ((operation & (kSignalInc | kSignalAdd)) != 0) {
    result.signal = static_cast<std::uint16_t>(bits(q[5], 24, 16));
    result.signal_value = bits(q[5], 40, 16) | bits(q[6], 8, 16) << 16U | bits(q[6], 24, 32) << 32U;
  }
  return result;
}

GinWords encode(const GinDescriptor& d) {
  std::uint64_t operation = kPut;
  if (d.is_inline) operation |= kInline;
  if (d.counter) operation |= kCounter;
  if (d.signal) operation |= d.signal_value == 1 ? kSignalInc : kSignalAdd;
  GinWords q{};
  q[0] = d.bytes << 7U | operation << 1U;
  q[1] = d.is_inline ? bits(d.value, 0, 48) << 8U : d.source_offset << 1U;
  q[2] = d.is_inline ? d.value >> 48U << 8U : d.source_window << 1U;
  q[3] = d.destination_offset << 1U;
  q[4] = d.destination_window << 1U;
  q[5] = std::uint64_t{d.counter.value_or(0)} << 8U | std::uint64_t{d.signal.value_or(0)} << 24U |
         bits(d.signal_value, 0, 16) << 40U;
  q[6] = bits(d.signal_value, 16, 16) << 8U | d.signal_value >> 32U << 24U;
  for (std::uint64_t& word : q)
    word |= 1U;
  return q;
}

}  // namespace cuco::nccl_core
