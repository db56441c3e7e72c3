// SPDX-License-Identifier: Apache-2.0
/// \file
/// A race detector, who acts in it, and how many races it has found.
#pragma once

#include <cstdint>

#include <gtest/gtest.h>

#include "check/race/race.h"

namespace cuco::check {

inline constexpr Address kData = 0x1000;
inline constexpr Address kFlag = 0x2000;

class RaceTest : public ::testing::Test {
 protected:
  ActorId actor(std::uint32_t block, std::uint32_t device = 0) {
    return detector.add_actors({block, device, 1, 1}, 1, Clock::zero());
  }
  void load(ActorId who, Address at, Order order = Order::Weak, Scope scope = Scope::Sys) {
    detector.access(who, {AccessKind::Load, order, scope, at, 4, 0, 0});
  }
  void store(ActorId who, Address at, Order order = Order::Weak, Scope scope = Scope::Sys) {
    detector.access(who, {AccessKind::Store, order, scope, at, 4, 0, 0});
  }
  void add(ActorId who, Address at, Order order, Scope scope = Scope::Sys) {
    detector.access(who, {AccessKind::Atomic, order, scope, at, 4, 0, 0});
  }
  int races = 0;
  RaceDetector detector{[this](const Race&) { ++races; }};
};

}  // namespace cuco::check
