// SPDX-License-Identifier: Apache-2.0
#include "candidate/rung.h"

#include <fmt/format.h>

namespace cuco::candidate {
namespace {
constexpr TargetKind kTargets[] = {TargetKind::Virtual, TargetKind::Loopback, TargetKind::Gpu,
                                   TargetKind::Cluster};
constexpr Fidelity kFidelities[] = {Fidelity::Quick, Fidelity::Standard, Fidelity::Scaled,
                                    Fidelity::Final};
}  // namespace

std::string_view name(TargetKind target) {
  switch (target) {
    case TargetKind::Virtual:
      return "virtual";
    case TargetKind::Loopback:
      return "loopback";
    case TargetKind::Gpu:
      return "gpu";
    case TargetKind::Cluster:
      return "cluster";
  }
  return "?";
}

std::string_view name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::Quick:
      return "quick";
    case Fidelity::Standard:
      return "standard";
    case Fidelity::Scaled:
      return "scaled";
    case Fidelity::Final:
      return "final";
  }
  return "?";
}

std::string to_text(Rung rung) {
  return fmt::format("{}/{}", name(rung.target), name(rung.fidelity));
}

std::optional<TargetKind> parse_target_kind(std::string_view word) {
  for (const auto target : kTargets) {
    if (name(target) == word) return target;
  }
  return std::nullopt;
}

std::optional<Fidelity> parse_fidelity(std::string_view word) {
  for (const auto fidelity : kFidelities) {
    if (name(fidelity) == word) return fidelity;
  }
  return std::nullopt;
}

}  // namespace cuco::candidate
