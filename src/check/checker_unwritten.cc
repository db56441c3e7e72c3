// SPDX-License-Identifier: Apache-2.0
// Reads of shared memory that the block has not written.
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "check/block_state.h"
#include "check/checker.h"

namespace cuco::check {
namespace {

/// What might have been there just as well: zeros, ones, numbers, no numbers.
constexpr std::array<std::uint64_t, 8> kLeftOver = {
    0,
    ~std::uint64_t{0},
    0x3F80'0000'3F80'0000,
    0x7FC0'0000'7FC0'0000,
    0xFF80'0000'FF80'0000,
    0x7FF0'0000'0000'0001,
    0x0123'4567'89AB'CDEF,
    0x8000'0000'8000'0000,
};

}  // namespace

void Checker::note_unwritten(BlockState& block,
                             const vgpu::Warp& warp,
                             const vgpu::Op& op,
                             const vgpu::AccessEvent& event,
                             std::uint32_t site) {
  if (block.unwritten.size() >= BlockState::kMostUnwritten) return;
  for (std::uint32_t rest = event.lanes; rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const Address end = event.addresses[lane] + event.bytes;
    if (end > warp.grid->shared_bytes) continue;  // that is another finding
    const auto first = static_cast<std::uint32_t>(event.addresses[lane] / 4);
    const auto last = static_cast<std::uint32_t>((end - 1) / 4);
    for (std::uint32_t word = first; word <= last; ++word) {
      if (block.shared.was_written(word)) continue;
      if (is_unwanted(warp, op, event, lane)) break;
      return block.add_unwritten({word, site, block.first + warp.index, lane});
    }
  }
}

// Compilers load before they know whether they need to: `if (i < n) x = shared[i]` becomes a load
// by all lanes and a choice.
bool Checker::is_unwanted(const vgpu::Warp& warp,
                          const vgpu::Op& op,
                          const vgpu::AccessEvent& event,
                          unsigned lane) {
  std::uint64_t value = 0;
  if (event.kind != AccessKind::Load || event.bytes > sizeof value) return false;
  std::memcpy(&value, warp.shared + event.addresses[lane], event.bytes);
  constexpr std::uint32_t kAll = (1U << kLeftOver.size()) - 1;
  return what_if_.ask(warp, op, lane, value, kLeftOver).equal == kAll;
}

void Checker::report_unwritten(const BlockState& block) {
  for (const BlockState::Unwritten& read : block.unwritten) {
    if (block.shared.was_written(read.word)) continue;
    const std::uint64_t key = std::uint64_t{read.site} << 32U | 0xFFFFFFFFU;
    if (const auto known = reported_.find(key); known != reported_.end()) {
      findings_.count(known->second);
      continue;
    }
    Finding finding;
    finding.kind = Kind::Uninitialised;
    finding.where = describe(read.site, read.actor, read.lane);
    finding.address = std::uint64_t{read.word} * 4;
    finding.message =
        fmt::format("byte {} of shared memory was never written by this block", finding.address);
    finding.hint = "initialise shared memory before it is read: its contents are left over";
    if (const auto index = findings_.add(std::move(finding))) reported_[key] = *index;
  }
}

}  // namespace cuco::check
