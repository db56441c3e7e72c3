// SPDX-License-Identifier: Apache-2.0
#include "run/schedule_runs.h"

#include <fmt/format.h>

#include "base/json.h"
#include "cli/terminal/interrupt.h"
#include "vcluster/core/cluster_schedule.h"

namespace cuco::run {
namespace {

constexpr int kMostSchedules = 100'000;

/// How the run under `seed` differs, and how to repeat it.
void report(cli::Context& context,
            const ScheduleFlags& flags,
            std::uint64_t seed,
            const std::vector<std::string>& lines,
            const targets::KeptRun& run,
            const vcluster::Schedule& schedule) {
  context.terminal.error(
      fmt::format("the program depends on the schedule: it differs under seed {}, "
                  "{} of {} schedules run",
                  seed, seed, flags.count));
  for (const std::string& line : lines)
    context.terminal.note("    {}", line);
  context.terminal.note("    schedule {}: {}", seed, schedule.describe());
  if (run.ending.server_failed || run.ending.program.code != 0) {
    for (std::string_view text = run.errors; !text.empty();) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      context.terminal.note("    | {}", text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }
  context.terminal.note("    reproduce with: cuco run --schedule-seed {} …", seed);
}

void note_lines(cli::Context& context, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    context.terminal.note("{}", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace

void ScheduleFlags::declare(cli::Arguments& arguments) {
  arguments.option("--schedules", count, "K",
                   "also run under K adversarial schedules and compare; exit 66 if one differs");
  arguments.option("--schedule-seed", seed, "S",
                   "run under the schedule that --schedules reported");
}

Result<void> ScheduleFlags::check() const {
  if (count < 0 || count > kMostSchedules) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("--schedules must be 0 to {}: {}", kMostSchedules, count)};
  }
  if (count > 0 && seed != 0) {
    return Error{ErrorKind::InvalidInput, "use --schedules or --schedule-seed, not both"};
  }
  return {};
}

Result<cli::ExitCode> run_schedules(cli::Context& context,
                                    const ScheduleFlags& flags,
                                    const CheckFlags& check,
                                    const targets::ProgramStart& start,
                                    const targets::ServerOptions& options) {
  CUCO_TRY_ASSIGN(const targets::KeptRun plain,
                  targets::run_and_keep(start, options, cli::InterruptScope::requested));
  // With --json, what stands on standard output is the report alone.
  if (context.json && check.enabled) {
    note_lines(context, plain.out);
  } else {
    context.terminal.pass_on(plain.out);
  }
  note_lines(context, plain.errors);
  if (plain.ending.interrupted) return cli::ExitCode::Interrupted;
  CheckReport found(context, check);
  // A deadlock ends the server with an error, but in a checked run it is a finding first.
  if (check.enabled) CUCO_TRY(found.add(plain.findings, 0));
  const bool compares = !plain.ending.server_failed;
  int ran = 0;
  for (int i = 1; compares && i <= flags.count; ++i) {
    targets::ServerOptions other = options;
    other.schedule_seed = static_cast<std::uint64_t>(i);
    context.terminal.progress(fmt::format("schedule {}/{}", i, flags.count));
    CUCO_TRY_ASSIGN(const targets::KeptRun run,
                    targets::run_and_keep(start, other, cli::InterruptScope::requested));
    context.terminal.clear_progress();
    if (run.ending.interrupted) return cli::ExitCode::Interrupted;
    ++ran;
    if (check.enabled) CUCO_TRY(found.add(run.findings, other.schedule_seed));
    std::vector<std::string> lines = differences(plain, run);
    // One difference is told. The checker looks at every schedule.
    if (lines.empty() || found.has_differences()) continue;
    report(context, flags, other.schedule_seed, lines, run,
           vcluster::make_schedule(other.schedule_seed, options.devices));
    found.add_difference(other.schedule_seed, std::move(lines));
    if (!check.enabled) break;
  }
  const bool differs = found.has_differences();
  const CheckedEnd end{
      .otherwise = compares ? cli::passed_on(plain.ending.program.code) : cli::ExitCode::Internal,
      .is_whole = compares && ran_to_its_end(plain.ending)};
  cli::ExitCode code = differs ? cli::ExitCode::Findings : end.otherwise;
  if (check.enabled) {
    CUCO_TRY_ASSIGN(code, found.finish(end));
  }
  if (compares && !differs) context.terminal.note("identical under {} adversarial schedules", ran);
  return code;
}

}  // namespace cuco::run
