// SPDX-License-Identifier: Apache-2.0
/// \file
/// Rung: where a candidate was judged and how thoroughly. Every verdict belongs to one.
///
/// Times of different targets are never compared with each other: a predicted time says nothing
/// about a measured one, and two GPUs say nothing about each other.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>

namespace cuco::candidate {

/// Where programs run, in the order in which a search climbs.
enum class TargetKind {
  Virtual,   ///< The virtual cluster: times are predicted.
  Loopback,  ///< N ranks on one real GPU.
  Gpu,       ///< One real GPU.
  Cluster,   ///< Real GPUs, real NCCL.
};

/// How much an evaluation may cost. A higher one includes what the lower ones check.
enum class Fidelity {
  Quick,     ///< Build, one check shape, time on the first timed shape.
  Standard,  ///< Every check shape, one adversarial schedule, time on every timed shape.
  Scaled,    ///< Also full shapes, as scale models: their time is the score from here on.
  Final,     ///< Also hidden shapes and more adversarial schedules.
};

struct Rung {
  TargetKind target = TargetKind::Virtual;
  Fidelity fidelity = Fidelity::Quick;
  auto operator<=>(const Rung&) const = default;
};

[[nodiscard]] constexpr bool is_predicted(TargetKind target) {
  return target == TargetKind::Virtual;
}

[[nodiscard]] std::string_view name(TargetKind target);
[[nodiscard]] std::string_view name(Fidelity fidelity);
[[nodiscard]] std::string to_text(Rung rung);  ///< "virtual/quick".

[[nodiscard]] std::optional<TargetKind> parse_target_kind(std::string_view word);
[[nodiscard]] std::optional<Fidelity> parse_fidelity(std::string_view word);

}  // namespace cuco::candidate
