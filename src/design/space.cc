// SPDX-License-Identifier: Apache-2.0
#include "design/space.h"

#include <functional>
#include <map>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::design {
namespace {

/// Visits one directive for every combination of values; chunks in bytes stand for all sizes.
void for_each_directive(const std::function<void(const Directive&)>& visit) {
  constexpr int kBackends = 5;
  constexpr int kPlacements = 6;
  constexpr int kScopes = 4;
  constexpr int kUnits = 3;
  constexpr int kChunks = 4;
  for (int b = 0; b < kBackends; ++b) {
    for (int i = 0; i < kPlacements * kScopes * kUnits * kChunks; ++i) {
      Directive directive;
      directive.backend = static_cast<Backend>(b);
      directive.placement = static_cast<Placement>(i % kPlacements);
      directive.sync = static_cast<SyncScope>(i / kPlacements % kScopes);
      directive.issuer.unit = static_cast<IssuerUnit>(i / kPlacements / kScopes % kUnits);
      directive.chunk.kind = static_cast<ChunkKind>(i / kPlacements / kScopes / kUnits);
      if (directive.chunk.kind == ChunkKind::Bytes) directive.chunk.bytes = 4096;
      visit(directive);
    }
  }
}

/// The fewest objections to any directive that has the value.
using Objections = std::map<std::string, std::vector<std::string>, std::less<>>;

/// The valid values of a dimension, then the invalid ones with their reasons, so that a model need
/// not guess.
std::string line(std::string_view dimension, const Objections& values) {
  std::vector<std::string> good;
  std::string bad;
  for (const auto& [value, reasons] : values) {
    if (reasons.empty()) {
      good.push_back(value);
    } else {
      bad += fmt::format("\n    not {}: {}", value, join(reasons, "; "));
    }
  }
  return fmt::format("{}: {}{}\n", dimension, good.empty() ? "nothing" : join(good, ", "), bad);
}

}  // namespace

std::string describe_space(const ProgramFacts& program,
                           const TopologyFacts& topology,
                           NcclVersion nccl) {
  Objections backends;
  Objections placements;
  Objections scopes;
  // A value is valid if any directive with it is; otherwise the directive with the fewest
  // objections says why.
  const auto note = [](Objections& values, std::string_view value,
                       const std::vector<std::string>& reasons) {
    const auto [known, added] = values.try_emplace(std::string(value), reasons);
    if (!added && reasons.size() < known->second.size()) known->second = reasons;
  };
  for_each_directive([&](const Directive& directive) {
    const auto reasons = violations(directive, program, topology, nccl);
    note(backends, name(directive.backend), reasons);
    note(placements, name(directive.placement), reasons);
    note(scopes, name(directive.sync), reasons);
  });
  return line("backend", backends) + line("placement", placements) + line("sync scope", scopes) +
         "issuer: thread, warp, block; with a count if only some of the kernel's issue: warp x "
         "4\n"
         "chunk: whole, per peer, per tile, or a size such as 64 KiB\n";
}

}  // namespace cuco::design
