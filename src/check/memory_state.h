// SPDX-License-Identifier: Apache-2.0
/// \file
/// What is known of each allocation, exact to the byte: its bounds, whether it was freed, and which
/// bytes were ever written.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "vgpu/address_map.h"

namespace cuco::check {

using vgpu::Address;

/// What is wrong with an access to [address, address + bytes).
struct MemoryProblem {
  enum class Kind : std::uint8_t { OutOfBounds, Freed, Uninitialised };
  Kind kind = Kind::OutOfBounds;
  Address address = 0;  ///< The first bad byte.
  std::string detail;   ///< "4 bytes after the end of 1024 bytes at 0x2000…, cudaMalloc".
};

class MemoryState {
 public:
  /// `what` names the call: "cudaMalloc". `written`: its contents count as initialised.
  void allocate(Address base, std::uint64_t bytes, std::string what, bool written);
  void free(Address base);
  void mark_written(Address address, std::uint64_t bytes);

  /// Judges one access. `reads`: every byte must have been written.
  [[nodiscard]] std::optional<MemoryProblem> check(Address address,
                                                   std::uint64_t bytes,
                                                   bool reads);

  /// Allocations still alive: what was leaked at the end of a run.
  [[nodiscard]] std::vector<std::string> live() const;
  /// "1024 bytes at 0x2000…, cudaMalloc"; empty when none holds the address.
  [[nodiscard]] std::string describe(Address address) const;
  [[nodiscard]] std::uint64_t shadow_bytes() const;

 private:
  struct Block {
    Address base = 0;
    std::uint64_t bytes = 0;
    std::string what;
    bool freed = false;
    bool all_written = false;
    std::vector<std::uint64_t> written;  ///< A bit per byte; empty when all_written.
    std::uint64_t unwritten = 0;         ///< Bits still 0.
  };
  Block* find(Address address);
  [[nodiscard]] const Block* find(Address address) const;
  [[nodiscard]] MemoryProblem outside(Address address) const;
  static std::string describe(const Block& block);

  std::map<Address, Block> blocks_;  ///< By base; freed ones stay until their range is used again.
  Block* last_ = nullptr;            ///< Most accesses hit the block of the one before.
};

}  // namespace cuco::check
