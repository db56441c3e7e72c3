// SPDX-License-Identifier: Apache-2.0
// Shared memory: how often an access has to go through its banks.
#include <algorithm>
#include <array>
#include <bit>

#include "vgpu/exec/exec.h"
#include "vgpu/gpu/grid.h"
#include "vgpu/memory/access.h"

namespace cuco::vgpu {

namespace {

/// Cycles, as measured on an H200 (bench/sanity).
constexpr unsigned kSharedAtomicCycles = 2;  ///< Each pass through the banks.
constexpr unsigned kSharedUniformCycles =
    12;                                     ///< All lanes on one word, which ptxas adds up first.
constexpr unsigned kSharedLoopCycles = 45;  ///< Each lane on one word, where it is a CAS loop.

/// A group of lanes that are served together, and what each of them wants.
struct Group {
  const Address* addresses;
  unsigned size;
  std::uint32_t active;
  std::uint32_t bytes;
};

/// The most words that any bank has to give.
std::uint32_t most_words(const Group& group) {
  std::array<std::uint32_t, 32> last;
  std::array<std::uint8_t, 32> count{};
  last.fill(~0U);
  std::uint8_t worst = 0;
  for (unsigned l = 0; l < group.size; ++l) {
    if ((group.active >> l & 1U) == 0) continue;
    for (std::uint32_t b = 0; b < group.bytes; b += 4) {
      const auto word = static_cast<std::uint32_t>((group.addresses[l] + b) >> 2U);
      const std::uint32_t bank = word & 31U;
      if (last[bank] == word) continue;
      last[bank] = word;
      worst = std::max(worst, ++count[bank]);
    }
  }
  return worst;
}

/// Does no lane want what another one's banks have to give? As an answer, no means perhaps.
bool is_apart(const Group& group) {
  if (!std::has_single_bit(group.bytes) || group.bytes > 128) return false;
  const unsigned shift = std::max(2U, static_cast<unsigned>(std::countr_zero(group.bytes)));
  const std::uint32_t places = 128U >> shift;
  std::uint32_t taken = 0;
  Address bits = 0;
  for (unsigned l = 0; l < group.size; ++l) {
    if ((group.active >> l & 1U) == 0) continue;
    bits |= group.addresses[l];
    taken |= 1U << (group.addresses[l] >> shift & (places - 1));
  }
  return (bits & (group.bytes - 1)) == 0 && std::popcount(taken) == std::popcount(group.active);
}

/// Words that lie within one row of banks get into nobody's way: one pass.
bool is_one_row(const Group& group) {
  Address differ = 0;
  for (unsigned l = 0; l < group.size; ++l)
    differ |= group.addresses[l] ^ group.addresses[0];
  if (differ < 128) return true;
  auto low = static_cast<std::uint32_t>(group.addresses[0]);
  std::uint32_t high = low;
  for (unsigned l = 1; l < group.size; ++l) {
    low = std::min(low, static_cast<std::uint32_t>(group.addresses[l]));
    high = std::max(high, static_cast<std::uint32_t>(group.addresses[l]));
  }
  return ((high + group.bytes - 1) >> 2U) - (low >> 2U) < 32;
}

/// Passes of the lanes in `lanes`: words of different rows in one bank get into each other's way.
std::uint32_t count_passes(const LaneAddresses& addresses,
                           std::uint32_t lanes,
                           std::uint32_t bytes) {
  // Wide accesses are served by halves or quarters of the warp, 128 bytes at a time.
  const unsigned size = bytes <= 4 ? 32 : std::max(128 / bytes, 1U);
  std::uint32_t passes = 0;
  for (unsigned start = 0; start < kLanes; start += size) {
    const std::uint32_t active = lanes >> start & static_cast<std::uint32_t>((1ULL << size) - 1);
    if (active == 0) continue;
    const Group group{addresses.data() + start, size, active, bytes};
    const bool alone = is_apart(group) || (lanes == kFullMask && is_one_row(group));
    passes += alone ? 1 : most_words(group);
  }
  return passes;
}

}  // namespace

void count_bank_conflicts(Warp& w,
                          std::uint32_t lanes,
                          const LaneAddresses& addresses,
                          std::uint32_t bytes) {
  const std::uint32_t passes = count_passes(addresses, lanes, bytes);
  // Passes beyond what the width needs anyway are conflicts.
  const std::uint32_t needed =
      std::max(1U, static_cast<std::uint32_t>(std::popcount(lanes)) * bytes / 128);
  const std::uint32_t conflicts = passes > needed ? passes - needed : 0;
  w.grid->counters.bank_conflicts += conflicts;
  w.shared_passes += passes + (bytes >= 16 ? conflicts : 0);  // Wide ones take two cycles.
}

void count_shared_atomics(Warp& w,
                          const Op& op,
                          std::uint32_t lanes,
                          const LaneAddresses& addresses,
                          std::uint32_t bytes) {
  const std::uint8_t user = MemoryAux::unpack(op.aux).user;
  if ((user & AtomicIsUniform) != 0) {
    w.shared_passes += kSharedUniformCycles;
    return;
  }
  // Counting up is done for all lanes on a word at once; else they come one after the other.
  const std::uint32_t passes = count_passes(addresses, lanes, bytes);
  if ((user & AtomicCounts) != 0) {
    w.shared_passes += passes * kSharedAtomicCycles;
    return;
  }
  std::uint32_t most = 0;  // Lanes on one word.
  for (std::uint32_t open = lanes; open != 0;) {
    const Address word = addresses[static_cast<unsigned>(std::countr_zero(open))];
    std::uint32_t same = 0;
    for_active(open, [&](unsigned l) { same |= (addresses[l] == word ? 1U : 0U) << l; });
    most = std::max(most, static_cast<std::uint32_t>(std::popcount(same)));
    open &= ~same;
  }
  w.shared_passes += (user & AtomicIsFloat) != 0 ? std::max(passes, most) * kSharedLoopCycles
                                                 : std::max(passes * kSharedAtomicCycles, most);
}

}  // namespace cuco::vgpu
