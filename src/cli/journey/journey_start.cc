// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <thread>

#include "cli/journey/journey.h"
#include "judge/judge.h"

namespace cuco::cli {

Result<ExitCode> start_journey(Context& context,
                               const JourneyOptions& options,
                               const store::RunFolder& folder) {
  judge::JudgeOptions judge_options;
  judge_options.workload = options.workload;
  judge_options.cache = system::cache_folder(system::Environment::current());
  judge_options.seed = options.seed;
  judge_options.topology = options.topology;
  judge_options.threads =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / options.jobs);
  // What the expert writes is ours; what a model or a program answers is anybody's.
  const bool own = std::all_of(options.proposers.begin(), options.proposers.end(),
                               [](const std::string& name) { return name == "expert"; });
  judge_options.tier = own ? system::Tier::Own : system::Tier::Hostile;
  CUCO_TRY_ASSIGN(const auto judge, judge::Judge::create(judge_options));
  const auto& workload = judge->workload();
  return travel(context, options, folder, {workload.name, workload.summary, workload.program},
                *judge);
}

}  // namespace cuco::cli
