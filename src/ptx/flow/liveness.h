// SPDX-License-Identifier: Apache-2.0
/// \file
/// Where the registers of a function hold values that are still wanted, and a plan that lets
/// registers which never hold such values at the same time share a place.
///
/// How to use it: place register r of `function` in a file of 32-lane slots at
/// plan.places[r], one array per class; a warp's file then has plan.slots[class] slots instead of
/// one per register. It is right for SIMT execution because every lane has its own copy of a slot
/// and takes part only in writes of paths it is on; so one thread's paths are all that counts. It
/// demands of the executor that
///   - a write touches active lanes only, and all bytes of the lane's slot that reads will see (a
///     16-bit register in a 32-bit slot starts with another value's upper half);
///   - a call saves what the caller's plan holds, or gives the callee slots of its own.
/// It does not demand that operations cope with overlap: a destination never shares with a source
/// of the same instruction. What a program reads before it writes is undefined either way.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptx/flow/control_flow.h"
#include "ptx/module.h"

namespace cuco::ptx {

enum class RegisterClass : std::uint8_t { Pred, B32, B64, B128 };
inline constexpr std::size_t kRegisterClasses = 4;

[[nodiscard]] RegisterClass class_of(Type type);

/// The instructions first … last between which a register must keep its place; loops included.
/// first > last: the register is never named.
struct LiveInterval {
  std::uint32_t first = 1;
  std::uint32_t last = 0;

  [[nodiscard]] bool is_empty() const { return first > last; }
};

/// By register. Memory and time are bounded: a function too large to analyse gets intervals that
/// span it whole.
[[nodiscard]] std::vector<LiveInterval> live_intervals(const Function& function);

struct RegisterPlan {
  struct Place {
    RegisterClass kind = RegisterClass::B32;
    std::uint32_t slot = 0;
  };
  std::vector<Place> places;                            ///< By register.
  std::array<std::uint32_t, kRegisterClasses> slots{};  ///< How many slots each class needs.
  std::vector<LiveInterval> intervals;                  ///< By register.
};

[[nodiscard]] RegisterPlan plan_registers(const Function& function);

}  // namespace cuco::ptx
