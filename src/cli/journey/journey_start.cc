// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <thread>

#include <fmt/format.h>

#include "cli/journey/journey.h"
#include "cli/journey/program_reading.h"
#include "cli/journey/proposers.h"
#include "cli/journey/target_option.h"
#include "cli/programs/opened_program.h"
#include "cli/terminal/interrupt.h"
#include "expert/standalone/nccl_names.h"
#include "judge/judge.h"
#include "store/stored_run.h"
#include "system/os/system_clock.h"

namespace cuco::cli {
namespace {

std::vector<system::Path> files_of(const JourneyOptions& options) {
  std::vector<system::Path> files{options.workload};
  files.insert(files.end(), options.sources.begin(), options.sources.end());
  return files;
}

judge::JudgeOptions judge_options(const JourneyOptions& options,
                                  const system::Path& trace,
                                  const judge::OnProgress& on_progress) {
  judge::JudgeOptions made;
  made.on_progress = on_progress;
  made.timeline = trace;
  made.workload = options.workload;
  made.cache = system::cache_folder(system::Environment::current());
  made.seed = options.seed;
  made.secret = options.secret;
  made.topology = options.topology;
  made.on = target_of(options.on);
  made.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / options.jobs);
  // What the expert writes is ours; what a model or a program answers is anybody's.
  made.tier = is_self_contained(options) ? system::Tier::Own : system::Tier::Hostile;
  // The expert's next move follows from the profiles that it is used to.
  made.profile = !is_self_contained(options);
  return made;
}

/// Says at once what is wrong with a program: it is not CUDA, does not compile, does not run, or
/// has no communication that the expert could take over.
Result<void> check_program(const JourneyOptions& options, const OpenedProgram& opened) {
  CUCO_TRY_ASSIGN(const ReadProgram read,
                  read_program(files_of(options), options.includes, options.flags));
  const auto uses = expert::uses_of(opened.source);
  if (!uses && is_self_contained(options)) {
    // Kernels alone are timed and rewritten in split workloads only.
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{}: {}{}", options.workload, uses.error().message(),
                             read.graph.sites.empty()
                                 ? "; for faster kernels split it first: cuco init NAME --from " +
                                       options.workload
                                 : std::string())};
  }
  CUCO_TRY_ASSIGN(const auto outcome, opened.judge->check(opened.source));
  if (!outcome) return {};
  return Error{ErrorKind::InvalidInput,
               fmt::format("{} does not even compare with itself: {}", options.workload,
                           candidate::summary(*outcome))};
}

/// A run that never got so far has nothing to show and nothing to resume.
bool has_judged_seed(const store::RunFolder& folder) {
  const auto summary = store::load_summary(folder);
  return summary && !summary->candidates.empty() && summary->candidates.front().seconds > 0;
}

}  // namespace

Result<ExitCode> with_judge(const JourneyOptions& options,
                            const UseOfJudge& use,
                            const system::Path& trace,
                            const judge::OnProgress& on_progress) {
  if (!std::filesystem::is_directory(options.workload)) {
    CUCO_TRY_ASSIGN(const OpenedProgram opened,
                    open_program({files_of(options), options.ranks, options.args, options.includes,
                                  options.flags},
                                 judge_options(options, trace, on_progress)));
    CUCO_TRY(check_program(options, opened));
    Subject subject{opened.judge->name(), "a program with main()", opened.source};
    subject.includes = include_folders(options.workload, options.includes);
    subject.flags = options.flags;
    return use(subject, *opened.judge);
  }
  CUCO_TRY_ASSIGN(const auto judge,
                  judge::Judge::create(judge_options(options, trace, on_progress)));
  const auto& workload = judge->workload();
  Subject subject{workload.name, workload.summary, workload.program};
  subject.workload = &workload;
  subject.add_check_shape = [&judge](workload::Shape shape) {
    judge->add_check_shape(std::move(shape));
  };
  return use(subject, *judge);
}

Result<ExitCode> start_journey(Context& context,
                               const JourneyOptions& options,
                               const std::function<Result<store::RunFolder>()>& folder) {
  system::SystemClock clock;
  CUCO_TRY(check_proposers(options, clock));
  InFlight table(clock);
  const auto use = [&](const Subject& subject,
                       candidate::Evaluator& evaluator) -> Result<ExitCode> {
    context.terminal.clear_progress();
    CUCO_TRY_ASSIGN(const store::RunFolder made, folder());
    const bool is_new = !std::filesystem::exists(made.database());
    auto ended = travel(context, options, made, subject, evaluator, &table);
    // What fails after Ctrl-C has not failed.
    if (!ended && InterruptScope::requested()) ended = ExitCode::Interrupted;
    const bool went_on = ended && *ended != ExitCode::Interrupted;
    if (!went_on && is_new && !has_judged_seed(made)) {
      context.resume_with.clear();
      CUCO_TRY(system::remove_all(made.path));
    }
    return ended;
  };
  if (!context.json) context.terminal.progress("preparing the judge …");
  auto ended = with_judge(options, use, {},
                          [&](const judge::JudgeProgress& progress) { table.advance(progress); });
  context.terminal.clear_progress();
  return ended;
}

}  // namespace cuco::cli
