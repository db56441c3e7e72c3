// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/results/recorded_timeline.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/journey/journey.h"

namespace cuco::cli {
namespace {

/// Only what passed is timed, and so has a timeline; virtual GPUs alone can be watched.
Result<const candidate::Entry*> timed_entry(const candidate::RunState& state,
                                            candidate::Number number) {
  if (number < 0 || static_cast<std::size_t>(number) >= state.entries.size())
    return Error{ErrorKind::NotFound, fmt::format("the run has no candidate #{}", number)};
  const auto& entry = state.entries[static_cast<std::size_t>(number)];
  const auto* scored = entry.scored();
  if (scored == nullptr) {
    return Error{ErrorKind::NotFound,
                 fmt::format("#{} has no timeline: it did not pass, and is not timed", number)};
  }
  if (!scored->predicted) {
    return Error{ErrorKind::NotFound,
                 fmt::format("#{} has no timeline: it was measured; timelines are recorded on "
                             "virtual GPUs",
                             number)};
  }
  return &entry;
}

/// The seed's part of it serves the seed, too.
report::Timeline seed_part(report::Timeline timeline) {
  timeline.candidate = candidate::kSeed;
  std::erase_if(timeline.programs, [](const auto& one) { return one.program != "seed"; });
  return timeline;
}

}  // namespace

Result<void> check_seed(const candidate::RunState& state) {
  const std::string& workload = state.started->workload;
  std::error_code code;
  const bool folder = std::filesystem::is_directory(workload, code);
  const system::Path file = folder ? system::Path(workload) / "program.cu" : system::Path(workload);
  CUCO_TRY_ASSIGN(const std::string now, system::read_file(file, 4U << 20U));
  const auto then = state.entries.front().candidate.source.find("program.cu");
  if (then == nullptr || then->text != now) {
    return Error{ErrorKind::NotFound, fmt::format("{} has changed since the run", file.string())};
  }
  return {};
}

std::optional<report::Timeline> kept_timeline(const store::RunFolder& folder,
                                              candidate::Number number) {
  const auto text = system::read_file(folder.timeline(number));
  if (!text) return std::nullopt;
  auto timeline = report::parse_timeline(*text);
  if (!timeline || timeline->candidate != number) return std::nullopt;
  return *std::move(timeline);
}

Result<report::Timeline> record_timeline(const candidate::RunState& state,
                                         const store::RunFolder& folder,
                                         candidate::Number number) {
  if (!state.started || state.entries.empty())
    return Error{ErrorKind::NotFound, "the run has no seed"};
  CUCO_TRY(check_seed(state));
  CUCO_TRY_ASSIGN(const JourneyOptions options, parse_journey_options(state.started->options));
  CUCO_TRY_ASSIGN(const candidate::Entry* entry, timed_entry(state, number));
  const auto& candidate = entry->candidate;
  const system::Path trace = folder.trace(number);
  CUCO_TRY(system::make_folder(trace.parent_path()));
  const auto judge = [&](const Subject&, candidate::Evaluator& evaluator) -> Result<ExitCode> {
    CUCO_TRY_ASSIGN(const auto outcome,
                    evaluator.evaluate(candidate, {.fidelity = candidate::Fidelity::Quick}));
    if (std::holds_alternative<candidate::Scored>(outcome)) return ExitCode::Done;
    return Error{ErrorKind::NotFound, "it did not pass this time: " + candidate::summary(outcome)};
  };
  CUCO_TRY(with_judge(options, judge, trace));
  CUCO_TRY_ASSIGN(const std::string text, system::read_file(trace));
  CUCO_TRY_ASSIGN(report::Timeline timeline, report::timeline_of_trace(text));
  timeline.candidate = number;
  const report::Timeline seed = seed_part(timeline);
  CUCO_TRY(system::write_file(folder.timeline(candidate::kSeed), report::to_json(seed)));
  if (number == candidate::kSeed) return seed;
  CUCO_TRY(system::write_file(folder.timeline(number), report::to_json(timeline)));
  return timeline;
}

}  // namespace cuco::cli
