// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/transformed.h"

#include <fmt/format.h>

#include "cli/journey/program_reading.h"
#include "expert/emit/emit.h"
#include "expert/standalone/split_program.h"
#include "expert/standalone/standalone.h"
#include "program/diff.h"

namespace cuco::cli {

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
                                    design::Backend backend) {
  CUCO_TRY_ASSIGN(const expert::Standalone made,
                  expert::with_own_collectives(source, {.backend = backend}));
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
                                    design::Backend backend) {
  CUCO_TRY_ASSIGN(const ReadProgram read, read_program(workload));
  CUCO_TRY_ASSIGN(const expert::SplitStandalone made,
                  expert::split_with_own_collectives(read.graph, source, {.backend = backend}));
  const std::string name = "program.cu";
  return Transformed{
      made.program,
      {{name, made.program}, {"changes.diff", program::unified_diff(name, source, made.program)}},
      made.replaced};
}

}  // namespace cuco::cli
