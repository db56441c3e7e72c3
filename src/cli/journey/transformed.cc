// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/transformed.h"

#include <fmt/format.h>

#include "analysis/analyse.h"
#include "cli/journey/program_reading.h"
#include "expert/emit/emit.h"
#include "expert/lanes/lanes.h"
#include "expert/standalone/split_program.h"
#include "expert/standalone/standalone.h"
#include "program/diff.h"

namespace cuco::cli {
namespace {

/// Kernels that compute may run beside it.
expert::OwnDesign design_of(design::Backend backend, bool overlap) {
  constexpr int kBlocks = 16;
  constexpr int kShare = 4;
  if (!overlap) return {.backend = backend};
  return {.backend = backend, .blocks = kBlocks, .share = kShare};
}

}  // namespace

Result<design::Backend> usual_backend(const candidate::Target& target) {
  if (target.facts.lsa_ranks >= target.facts.ranks) return design::Backend::Lsa;
  if (!target.facts.gin) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{} has no network card that GPUs can drive", target.topology)};
  }
  return target.facts.lsa_ranks > 1 ? design::Backend::Hybrid : design::Backend::Gin;
}

Result<Transformed> transform_whole(const std::string& name,
                                    const std::string& source,
                                    design::Backend backend,
                                    const analysis::CommunicationGraph* overlap) {
  std::string before = source;
  if (overlap != nullptr) {
    CUCO_TRY_ASSIGN(before, expert::lanes::with_lanes(*overlap, source, {}));
  }
  CUCO_TRY_ASSIGN(const expert::Standalone made,
                  expert::with_own_collectives(before, design_of(backend, overlap != nullptr)));
  return Transformed{
      expert::as_one_file(made, made.program),
      {{name, made.program},
       {std::string(expert::kCollectivesHeaderName), made.header},
       {std::string(expert::emit::kDeviceHeaderName), std::string(expert::emit::device_header())},
       {"changes.diff", program::unified_diff(name, source, made.program)}},
      made.replaced};
}

Result<Transformed> transform_split(const system::Path& workload,
                                    const std::string& source,
                                    design::Backend backend,
                                    bool overlap) {
  CUCO_TRY_ASSIGN(ReadProgram read, read_program(workload));
  std::string before = source;
  if (overlap) {
    CUCO_TRY_ASSIGN(before, expert::lanes::with_lanes(read.graph, source, {}));
    CUCO_TRY_ASSIGN(const system::Path include, system::find_data("include"));
    CUCO_TRY_ASSIGN(read.graph,
                    analysis::analyse("program.cu", before, {.include_paths = {include}}));
  }
  CUCO_TRY_ASSIGN(
      const expert::SplitStandalone made,
      expert::split_with_own_collectives(read.graph, before, design_of(backend, overlap)));
  const std::string name = "program.cu";
  return Transformed{
      made.program,
      {{name, made.program}, {"changes.diff", program::unified_diff(name, source, made.program)}},
      made.replaced};
}

}  // namespace cuco::cli
