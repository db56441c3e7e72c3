// SPDX-License-Identifier: Apache-2.0
/// \file
/// The checker's own state of a running block and of a piece of work.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "check/checker.h"
#include "check/shared/async_copies.h"
#include "check/shared/bulk_copies.h"

namespace cuco::check {

struct Checker::Work {
  WorkInfo info;
  ActorId actor = kNoActor;  ///< For work that is no grid.
  ChainId chain = 0;
  std::uint64_t operation = 0;
  ClockPtr end;  ///< Grows while it runs.
  std::uint32_t site = 0;
  std::uint64_t grid_key = 0;
};

struct Checker::BlockState {
  BlockOrder order;
  SharedRaces shared{order};
  std::uint64_t grid = 0;
  std::uint64_t number = 0;
  WorkId work = 0;
  ActorId first = kNoActor;
  std::uint32_t record = 0;  ///< In block_records_.
  std::uint32_t warps = 0;
  /// Knowledge gathered at each barrier: by those who arrived, for those who leave.
  struct Meeting {
    ClockPtr gathered;
    std::uint32_t origin = 0;  ///< The instruction of the first to arrive.
    std::uint32_t other = 0;   ///< Another one, of somebody who came later.
    bool is_told = false;
    RaceDetector::Fences fences;
    std::array<ClockPtr, kProxySpaces> proxied;
  };
  std::array<Meeting, 16> meetings;
  /// Words of shared memory that strong operations meet on.
  struct Flag {
    BlockOrder::Epochs epochs{};
    ClockPtr clock;
  };
  std::unordered_map<std::uint32_t, Flag> flags;
  /// The same of kernels that poll such words, by the addresses that RaceDetector::meet_on has.
  std::unordered_set<Address> meetings_on;
  [[nodiscard]] Address meeting_at(Address offset) const {
    return std::uint64_t{1} << 62U | std::uint64_t{record} << 20U | offset;
  }
  /// Reads of shared memory that nobody had written. If somebody does later it is a race instead.
  struct Unwritten {
    std::uint32_t word = 0;
    std::uint32_t site = 0;
    ActorId actor = kNoActor;
    unsigned lane = 0;
  };
  static constexpr std::size_t kMostUnwritten = 64;
  std::vector<Unwritten> unwritten;
  void add_unwritten(const Unwritten& read) {
    if (unwritten.size() < kMostUnwritten) unwritten.push_back(read);
  }
  AsyncCopies async;
  BulkCopies bulk;
  /// What each warp knows to be there for bulk copies, by space.
  std::array<std::array<ClockPtr, BlockOrder::kMaxWarps>, kProxySpaces> proxied;
};

}  // namespace cuco::check
