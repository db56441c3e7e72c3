// SPDX-License-Identifier: Apache-2.0
#include "candidate/evaluator.h"

#include <fmt/format.h>

namespace cuco::candidate {

std::vector<std::string> differences(const Provenance& then, const Provenance& now) {
  // Empty versions in a message would only puzzle.
  if (then == Provenance{} && now != then) return {"it was recorded by an older cuco"};
  std::vector<std::string> found;
  const auto contents = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a != b) found.push_back(fmt::format("{} has changed", what));
  };
  const auto version = [&](std::string_view tool, const std::string& a, const std::string& b) {
    if (a != b) found.push_back(fmt::format("{} was {} and is {} now", tool, a, b));
  };
  contents("the workload's folder", then.workload, now.workload);
  contents("the hardware description", then.hardware, now.hardware);
  contents("the topology", then.topology, now.topology);
  version("nvcc", then.nvcc, now.nvcc);
  version("NCCL", then.nccl, now.nccl);
  version("cuco", then.cuco, now.cuco);
  return found;
}

Result<Comparison> Evaluator::compare(const Candidate& /*challenger*/,
                                      const Candidate& /*incumbent*/,
                                      Rung rung) {
  return Error{ErrorKind::Unavailable,
               fmt::format("programs cannot be compared side by side on {}", to_text(rung))};
}

}  // namespace cuco::candidate
