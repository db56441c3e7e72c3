// SPDX-License-Identifier: Apache-2.0
/// \file
/// The journey of `cuco optimize` and `cuco resume`: seed, analysis, fast path, slow path, winner.
/// One named step after the other; each lives in the folder of its name.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "candidate/evaluator.h"
#include "candidate/run_state.h"
#include "cli/live/in_flight.h"
#include "cli/models/model_options.h"
#include "cli/terminal/command.h"
#include "judge/judge_progress.h"
#include "program/source.h"
#include "store/run_folder.h"
#include "workload/workload.h"

namespace cuco::cli {

/// What the user asked for; stored with the run, so that it can be resumed. No keys in here.
struct JourneyOptions {
  std::string workload;              ///< A folder, or the file of a program with main().
  int ranks = 4;                     ///< This and the next four: of such a program.
  std::vector<std::string> sources;  ///< Its further files.
  std::vector<std::string> args, includes, flags;
  std::uint64_t seed = 1;
  /// "expert", "tuner", "model", "command:PROGRAM", "mailbox:FOLDER".
  std::vector<std::string> proposers;
  ModelOptions models;
  std::string record;
  std::string replay;
  std::string
      secret;  ///< The judge's, for runs that are recorded or replayed; empty: the machine's.
  std::string topology;
  std::string on = "virtual";  ///< See target_option.h.
  int candidates = 40;
  int planned = 0;            ///< Of a resumed run that gets more: what it was started with.
  double budget_seconds = 0;  ///< 0: no limit of time.
  int jobs = 1;
  int window = 1;                 ///< See candidate::RunStarted.
  std::string policy = "search";  ///< See search::parse_policy().
  bool fast_path = true;
  std::string start;       ///< File of a program to go on from; empty: none.
  bool knowledge = false;  ///< Start from what earlier runs have taught.
  int rounds = 0;          ///< Of `cuco tune`; 0: a search.
};

/// Nobody has to be asked outside of this program.
[[nodiscard]] bool is_self_contained(const JourneyOptions& options);

[[nodiscard]] std::string to_json(const JourneyOptions& options);
[[nodiscard]] Result<JourneyOptions> parse_journey_options(std::string_view json);

/// The program that is optimised.
struct Subject {
  std::string name;
  std::string summary;
  std::string program;                           ///< Text of program.cu.
  std::vector<system::Path> includes = {};       ///< Folders of headers that it needs.
  std::vector<std::string> flags = {};           ///< Of nvcc.
  const workload::Workload* workload = nullptr;  ///< Null: a program with main().
  /// Candidates are checked on one more shape; empty where shapes are not known.
  std::function<void(workload::Shape)> add_check_shape = {};
};

/// Everything from the seed to the winner's folder. Done: a faster candidate was found; JobFailed:
/// none was; Interrupted: the run can be resumed. `table`, which the judge fills, is shown on a
/// terminal; null: it is known only what is in flight, not how far it is.
[[nodiscard]] Result<ExitCode> travel(Context& context,
                                      const JourneyOptions& options,
                                      const store::RunFolder& folder,
                                      const Subject& subject,
                                      candidate::Evaluator& evaluator,
                                      InFlight* table = nullptr);

/// Each file below the folder, which is made if need be.
[[nodiscard]] Result<void> write_files(const std::vector<program::File>& files,
                                       const system::Path& folder);

/// Writes a candidate as a folder that builds with plain nvcc and NCCL.
[[nodiscard]] Result<void> write_candidate(const candidate::RunState& state,
                                           candidate::Number number,
                                           std::string_view run,
                                           const system::Path& folder);

/// Makes the judge that the options ask for, and hands it to `use`. What cannot be judged at all is
/// named before that. `trace`: where a trace of seed and candidate goes; empty: none is made.
/// `on_progress` hears how far each judgement is.
using UseOfJudge = std::function<Result<ExitCode>(const Subject&, candidate::Evaluator&)>;
[[nodiscard]] Result<ExitCode> with_judge(const JourneyOptions& options,
                                          const UseOfJudge& use,
                                          const system::Path& trace = {},
                                          const judge::OnProgress& on_progress = {});

/// Makes the judge that the options ask for, and travels. `folder` is asked for when it is clear
/// that there is something to judge: what cannot be optimised leaves no run behind.
[[nodiscard]] Result<ExitCode> start_journey(
    Context& context,
    const JourneyOptions& options,
    const std::function<Result<store::RunFolder>()>& folder);

}  // namespace cuco::cli
