// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is known of each allocation, exact to the byte: its bounds, whether it was freed, and which
/// bytes were ever written.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "check/finding/finding.h"
#include "vgpu/memory/address_map.h"

namespace cuco::check {

using vgpu::Address;

/// What is wrong with an access to [address, address + bytes).
struct MemoryProblem {
  enum class Kind : std::uint8_t { OutOfBounds, Freed, Uninitialised };
  Kind kind = Kind::OutOfBounds;
  Address address = 0;  ///< The first bad byte.
  std::string detail;   ///< "4 bytes after the end of 1024 bytes at 0x2000…, cudaMalloc".
};

/// Begins AllocationInfo::what of a module's variable, which nobody frees.
inline constexpr std::string_view kVariable = "variable ";

/// An allocation as its maker describes it.
struct AllocationInfo {
  std::string what;       ///< The call: "cudaMalloc".
  int rank = -1;          ///< Whose.
  bool written = false;   ///< Its contents count as initialised.
  bool internal = false;  ///< The runtime's own: no races in it, and never leaked.
  Site made;              ///< The call's place in the program.
};

class MemoryState {
 public:
  void allocate(Address base, std::uint64_t bytes, AllocationInfo info);
  void free(Address base, Site freed_at = {});
  void mark_written(Address address, std::uint64_t bytes);
  /// Whatever is there counts as left over.
  void mark_unwritten(Address address, std::uint64_t bytes);

  /// Judges one access. `reads`: every byte must have been written.
  [[nodiscard]] std::optional<MemoryProblem> check(Address address,
                                                   std::uint64_t bytes,
                                                   bool reads);

  /// Would check find nothing? For those who ask often.
  [[nodiscard]] bool is_fine(Address address, std::uint64_t bytes, bool reads);

  /// Are the unwritten bytes of the range those between the members of a structure: a few bytes,
  /// again and again at the same distance, or at the end of a single small one?
  [[nodiscard]] bool is_padding(Address address, std::uint64_t bytes);

  /// An allocation of the program, alive or not.
  struct Block {
    Address base = 0;
    std::uint64_t bytes = 0;
    AllocationInfo info;
    bool freed = false;
    Site freed_at;
    bool all_written = false;
    std::vector<std::uint64_t> written;  ///< A bit per byte; empty when all_written.
    std::uint64_t unwritten = 0;         ///< Bits still 0.
  };
  /// Those of the program that are still there: leaked, at the end of a run.
  [[nodiscard]] std::vector<const Block*> live() const;
  [[nodiscard]] const Block* find(Address address) const;
  /// "1024 bytes at 0x2000…, cudaMalloc by rank 0"; empty when none holds the address.
  [[nodiscard]] std::string describe(Address address) const;
  [[nodiscard]] static std::string describe(const Block& block);
  /// The allocation that an address outside of all of them most likely belongs to.
  [[nodiscard]] const Block* nearest(Address address) const;
  /// [from, from + bytes) was copied to `to`: what was never written stays so.
  void copy_state(Address to, Address from, std::uint64_t bytes);
  [[nodiscard]] std::uint64_t shadow_bytes() const;

 private:
  Block* lookup(Address address);
  [[nodiscard]] MemoryProblem outside(Address address) const;

  std::map<Address, Block> blocks_;  ///< By base; freed ones stay until their range is used again.
  /// Most accesses hit a block that was hit lately; by a few bits of the address.
  std::array<Block*, 64> recent_{};
};

}  // namespace cuco::check
