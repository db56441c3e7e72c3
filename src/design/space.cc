// SPDX-License-Identifier: Apache-2.0
#include "design/space.h"

#include <algorithm>
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

void add_unique(std::vector<std::string>& list, std::string_view value) {
  if (std::ranges::find(list, value) == list.end()) list.emplace_back(value);
}

/// The dimensions of a kernel by itself.
std::vector<std::string> kernel_moves(const ProgramFacts& program) {
  std::vector<std::string> moves;
  if (program.kernels == 0) return moves;
  moves = {"vectors: 4, 8 or 16 bytes an access",
           "reduction: a thread, a warp's shuffles, a block through shared memory",
           "staging: none, registers instead of a second pass, shared memory",
           "geometry: threads a block, blocks a row, rows a block"};
  if (program.kernels > 1)
    moves.emplace_back("fusion: neighbours that share data become one kernel");
  return moves;
}

}  // namespace

Space enumerate_space(const ProgramFacts& program,
                      const TopologyFacts& topology,
                      NcclVersion nccl) {
  Space space;
  for_each_directive([&](const Directive& directive) {
    ++space.all;
    const auto reasons = violations(directive, program, topology, nccl);
    for (const auto& reason : reasons)
      ++space.refusals[reason];
    if (!reasons.empty()) return;
    ++space.valid;
    auto family = std::ranges::find_if(space.families, [&](const Family& known) {
      return known.backend == directive.backend && known.placement == directive.placement &&
             known.sync == directive.sync;
    });
    if (family == space.families.end()) {
      family = space.families.insert(
          family, Family{directive.backend, directive.placement, directive.sync, {}, {}, {}});
    }
    add_unique(family->issuers, name(directive.issuer.unit));
    add_unique(family->chunks, name(directive.chunk.kind));
    for (const auto& note : costs(directive, program, topology))
      add_unique(family->costs, note);
  });
  space.kernel_moves = kernel_moves(program);
  return space;
}

std::string describe_space(const ProgramFacts& program,
                           const TopologyFacts& topology,
                           NcclVersion nccl) {
  std::string kernels;
  for (const auto& move : kernel_moves(program))
    kernels += fmt::format("kernel {}\n", move);
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
         "chunk: whole, per peer, per tile, or a size such as 64 KiB\n" +
         (program.has_collective ? std::string() : kernels);
}

}  // namespace cuco::design
