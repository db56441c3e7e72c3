// SPDX-License-Identifier: Apache-2.0
// Whether a workload is fit to judge by: shapes that fit, an oracle that tells right from wrong, a
// seed that passes.
#include <fmt/format.h>

#include "base/text.h"
#include "judge/judge.h"
#include "judge/oracle/oracle_trust.h"
#include "rank/rank_job.h"

namespace cuco::judge {

std::vector<WorkloadTest> Judge::test_workload(bool run_seed) {
  std::vector<WorkloadTest> tests{{"workload.toml, program.cu and oracle.cpp", true, ""}};
  tests.push_back({"has a hidden shape", !workload().shapes_for(workload::Use::Hidden).empty(),
                   "one that no proposer sees"});
  test_memory(tests);
  test_oracle(tests);
  if (run_seed) test_seed(tests);
  return tests;
}

void Judge::test_memory(std::vector<WorkloadTest>& tests) const {
  for (const workload::Shape& shape : workload().shapes) {
    std::uint64_t bytes = 0;
    for (const auto* rules : {&workload().inputs, &workload().outputs}) {
      const auto buffers = workload().buffers(*rules, shape);
      if (!buffers) {
        tests.push_back({"shapes", false, buffers.error().message()});
        return;
      }
      for (const workload::Buffer& buffer : *buffers)
        bytes += buffer.bytes() + rank::kGuardBytes;
    }
    bytes *= static_cast<std::uint64_t>(workload().budget.sets);
    tests.push_back({fmt::format("shape fits on one GPU, {}", shape.name),
                     bytes <= parts_.gpu.memory_bytes,
                     fmt::format("{} of {} for all buffer sets of a rank",
                                 human_bytes(static_cast<double>(bytes)),
                                 human_bytes(static_cast<double>(parts_.gpu.memory_bytes)))});
  }
}

void Judge::test_oracle(std::vector<WorkloadTest>& tests) const {
  for (const workload::Shape* shape : workload().shapes_for(workload::Use::Check)) {
    const auto oracle = parts_.benches->start_oracle();
    const auto results = oracle ? judge::test_oracle(workload(), *shape, parts_.secret, **oracle)
                                : Result<std::vector<OracleTest>>(oracle.error());
    if (!results) {
      tests.push_back({"oracle.cpp runs", false, results.error().message()});
      return;
    }
    for (const OracleTest& test : *results)
      tests.push_back({fmt::format("oracle, {}: {}", test.shape, test.what), test.passed, ""});
  }
}

void Judge::test_seed(std::vector<WorkloadTest>& tests) {
  // At final fidelity: a workload whose hidden shapes fail is broken, too.
  const auto judged = judge(workload().program, candidate::Fidelity::Final);
  if (!judged) {
    tests.push_back({"the seed can be judged", false, judged.error().message()});
    return;
  }
  const auto* scored = std::get_if<candidate::Scored>(&*judged);
  tests.push_back({"the seed passes on check, hidden and timed shapes", scored != nullptr,
                   scored != nullptr ? "" : candidate::explanation(*judged)});
  if (scored == nullptr) return;
  for (const candidate::ShapeTime& time : scored->shapes) {
    tests.push_back({fmt::format("bound below the seed's time, {}", time.shape),
                     time.bound_seconds < time.seconds,
                     fmt::format("bound {}, seed {} predicted", human_seconds(time.bound_seconds),
                                 human_seconds(time.seconds))});
  }
}

}  // namespace cuco::judge
