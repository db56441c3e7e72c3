// SPDX-License-Identifier: Apache-2.0
// The header that goes with a laned program, as it is, on a runtime that only notes what is ordered
// behind what.
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "expert/lanes/templates/cuco_lanes.cuh"

namespace cuco {
namespace {

using testing::Contains;
using testing::Not;

constexpr std::size_t kBuffers = 6;
constexpr std::size_t kBytes = 64;

/// One thing that a program asks for.
struct Asked {
  std::vector<int> reads = {}, writes = {};  ///< Buffers.
  bool communicates = false;
  std::vector<int> together = {};  ///< Buffers that are written with those of the same group.
  int group = 0;
  bool anything = false;  ///< Through a pointer that nobody knows.
};

bool share(const std::vector<int>& a, const std::vector<int>& b) {
  return std::ranges::any_of(a, [&](int one) { return std::ranges::find(b, one) != b.end(); });
}

std::vector<int> all_writes(const Asked& asked) {
  std::vector<int> all = asked.writes;
  all.insert(all.end(), asked.together.begin(), asked.together.end());
  return all;
}

/// Whether the later has to wait for the earlier.
bool depends(const Asked& later, const Asked& earlier) {
  const bool both = later.group == earlier.group && share(later.together, earlier.together);
  return later.anything || earlier.anything || (later.communicates && earlier.communicates) ||
         share(later.reads, all_writes(earlier)) || share(all_writes(later), earlier.reads) ||
         share(later.writes, all_writes(earlier)) || share(all_writes(later), earlier.writes) ||
         (!both && share(later.together, earlier.together));
}

class LaneOrder : public testing::Test {
 protected:
  LaneOrder() {
    for (auto& buffer : buffers_)
      Allocations::all().add(buffer.data(), kBytes);
  }
  ~LaneOrder() override {
    Lanes::of(&origin_).join();
    for (auto& buffer : buffers_)
      Allocations::all().remove(buffer.data());
    LaneSets::all().destroy();
    fake_memory().clear();
  }

  /// Enqueues it and notes what it comes after.
  void ask(const Asked& asked) {
    Touches touches = asked.anything ? writes(&elsewhere_) : Touches{};
    for (const int i : asked.reads)
      touches.add(reads(inside(i)));
    for (const int i : asked.writes)
      touches.add(writes(inside(i)));
    for (const int i : asked.together) {
      touches.add(writes(inside(i)));
      touches.list.back().together = static_cast<uintptr_t>(asked.group) + 1;
    }
    FakeStream* stream = Lanes::of(&origin_).next(touches, asked.communicates);
    after_.push_back(stream->before);
    stream->before.insert(static_cast<int>(asked_.size()));
    asked_.push_back(asked);
  }
  /// Somewhere in the buffer, as pointers are.
  char* inside(int buffer) { return buffers_[static_cast<std::size_t>(buffer)].data() + 8; }

  /// Everything that is ordered by the program's hazards, by way of others too.
  std::vector<std::set<int>> needed() const {
    std::vector<std::set<int>> needed(asked_.size());
    for (std::size_t later = 0; later < asked_.size(); ++later) {
      for (std::size_t earlier = 0; earlier < later; ++earlier) {
        if (!depends(asked_[later], asked_[earlier])) continue;
        needed[later].insert(static_cast<int>(earlier));
        needed[later].insert(needed[earlier].begin(), needed[earlier].end());
      }
    }
    return needed;
  }

  FakeStream origin_;
  char elsewhere_ = 0;
  std::array<std::array<char, kBytes>, kBuffers> buffers_{};
  std::vector<Asked> asked_;
  std::vector<std::set<int>> after_;  ///< What each is ordered behind.
};

TEST_F(LaneOrder, KeepsEveryHazardOfAnyProgram) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    asked_.clear();
    after_.clear();
    origin_.before.clear();
    Lanes::of(&origin_).begin();
    const int count = 2 + static_cast<int>(rng.below(30));
    for (int i = 0; i < count; ++i) {
      Asked asked{.communicates = rng.below(4) == 0, .anything = rng.below(20) == 0};
      for (std::size_t n = rng.below(3); n > 0; --n)
        asked.reads.push_back(static_cast<int>(rng.below(kBuffers)));
      for (std::size_t n = rng.below(2); n > 0; --n)
        asked.writes.push_back(static_cast<int>(rng.below(kBuffers)));
      asked.group = static_cast<int>(rng.below(2));
      for (std::size_t n = rng.below(2); n > 0; --n)
        asked.together.push_back(static_cast<int>(rng.below(kBuffers)));
      ask(asked);
    }
    Lanes::of(&origin_).join();
    const auto hazards = needed();
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      EXPECT_THAT(after_[i], testing::IsSupersetOf(hazards[i])) << "seed " << seed << ", " << i;
      EXPECT_THAT(origin_.before, Contains(static_cast<int>(i))) << "seed " << seed;
    }
  }
}

TEST_F(LaneOrder, OrdersNothingElseWhereThereAreLanesEnough) {
  Lanes::of(&origin_).begin();
  ask({.reads = {0}, .writes = {1}});
  ask({.reads = {0}, .writes = {2}});         // two readers of the same
  ask({.reads = {1}, .communicates = true});  // sends what the first has made
  ask({.reads = {2}, .writes = {3}});         // goes on from the second
  ask({.reads = {2}, .communicates = true});
  EXPECT_THAT(after_[1], Not(Contains(0)));
  EXPECT_EQ(after_[2], std::set<int>{0});
  EXPECT_EQ(after_[3], std::set<int>{1});
  EXPECT_EQ(after_[4], (std::set<int>{0, 1, 2}));
}

TEST_F(LaneOrder, LetsThoseThatWriteTogetherPassEachOtherAndNobodyElse) {
  Lanes::of(&origin_).begin();
  ask({.reads = {1}, .writes = {5}});                           // 0: reads what came before
  ask({.writes = {2}, .together = {1}});                        // 1: two that send,
  ask({.writes = {3}, .together = {1}});                        // 2: what comes is in 1
  ask({.reads = {2, 3}, .writes = {1}, .communicates = true});  // 3: their exchange
  ask({.writes = {4}, .together = {1}});                        // 4: of the next one
  EXPECT_EQ(after_[1], std::set<int>{0});
  EXPECT_EQ(after_[2], std::set<int>{0});
  EXPECT_EQ(after_[3], (std::set<int>{0, 1, 2}));
  EXPECT_THAT(after_[4], Contains(3));
}

TEST_F(LaneOrder, LetsARingsExchangePassItsComputation) {
  Lanes::of(&origin_).begin();
  // Two buffers in turn: 1 and 2; 3 is what the steps add to.
  ask({.reads = {0}, .writes = {3}});                        // 0: attend
  ask({.reads = {0}, .writes = {1}, .communicates = true});  // 1: exchange
  ask({.reads = {1, 3}, .writes = {3}});                     // 2: attend
  ask({.reads = {1}, .writes = {2}, .communicates = true});  // 3: exchange
  ask({.reads = {2, 3}, .writes = {3}});                     // 4: attend
  ask({.reads = {2}, .writes = {1}, .communicates = true});  // 5: exchange
  EXPECT_THAT(after_[1], Not(Contains(0)));
  EXPECT_THAT(after_[3], Not(Contains(2)));
  EXPECT_THAT(after_[5], Not(Contains(4)));
  // Who overwrites waits for who still reads: the second step has used buffer 1.
  EXPECT_THAT(after_[5], Contains(2));
}

TEST_F(LaneOrder, FindsPointersInsideOfArguments) {
  Lanes::of(&origin_).begin();
  struct Argument {
    double number;
    char* pointer;
    int rows;
  };
  const Argument known{3.25, inside(1), 7};
  EXPECT_EQ(holds(known).list.size(), 1U);
  EXPECT_FALSE(holds(known).everything);
  const Argument none{3.25, nullptr, 7};
  EXPECT_TRUE(holds(none).list.empty());
  fake_memory()[&elsewhere_] = 1;
  const Argument unknown{3.25, &elsewhere_, 7};
  EXPECT_TRUE(holds(unknown).everything);
}

TEST_F(LaneOrder, LeavesTheStreamAloneOutsideOfARun) {
  EXPECT_EQ(lane(&origin_, writes(inside(0))), &origin_);
  {
    const Joined joined(&origin_);
    lane(&origin_, writes(inside(0)));
    EXPECT_NE(lane(&origin_, writes(inside(1))), &origin_);
  }
  EXPECT_EQ(lane(&origin_, writes(inside(2))), &origin_);
}

}  // namespace
}  // namespace cuco
