// SPDX-License-Identifier: Apache-2.0
#include "run/loopback_view.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "cli/terminal/interrupt.h"

namespace cuco::run {
namespace {

using targets::LoopbackOptions;
using targets::LoopbackRun;
using targets::Pacing;

/// A run is called steady if the two without a delay differ by less than this share of the delay.
constexpr double kSteady = 0.25;
constexpr double kGrowth = 0.5;
/// A mean pacing error above this says that the GPU, not the network, sets the times.
constexpr double kTooLong = 0.5;

Pacing pacing_of(const LoopbackRun& run, const LoopbackOptions& options) {
  return targets::pacing_of(run.report, options.network.has_value());
}

std::string as_json(const LoopbackRun& run, const LoopbackOptions& options, cli::ExitCode code) {
  Json object = targets::to_json(run.report);
  object["target"] = "loopback";
  object["exit"] = static_cast<int>(code);
  object["seconds"] = run.seconds;
  object["pacing"] = targets::name_of(pacing_of(run, options));
  object["network"] = options.network ? Json(options.network->name) : Json();
  object["put_bytes"] = run.report.put_bytes();
  object["collective_bytes"] = run.report.collective_bytes();
  return to_text(object) + "\n";
}

void tell(cli::Context& context, const LoopbackRun& run, const LoopbackOptions& options) {
  for (const std::string& line : describe(run, options))
    context.terminal.note("cuco: {}", line);
  for (const std::string& finding : run.report.findings)
    context.terminal.error(finding);
}

cli::ExitCode code_of(cli::Context& context, const LoopbackRun& run) {
  return code_with(run.report, exit_code(context, run.run.ending));
}

/// The library's own time where there is one: it leaves out how long a process takes to start.
double time_of(const LoopbackRun& run) {
  const double seconds = run.report.seconds();
  return seconds > 0 ? seconds : run.seconds;
}

/// What two runs printed, apart from times.
bool prints_the_same(const LoopbackRun& one, const LoopbackRun& other) {
  const auto masked = [](const LoopbackRun& run) {
    std::string text;
    for (const std::string_view line : split(run.run.out, '\n'))
      text += targets::without_times(line) + "\n";
    return text;
  };
  return one.run.ending.program.code == other.run.ending.program.code &&
         masked(one) == masked(other);
}

}  // namespace

cli::ExitCode exit_code(cli::Context& context, const targets::RealEnding& ending) {
  if (ending.interrupted) return cli::ExitCode::Interrupted;
  const system::JobOutcome& program = ending.program;
  if (program.ending == system::Ending::Exited) return cli::passed_on(program.code);
  if (program.ending == system::Ending::Signalled) {
    context.terminal.error("the program was " + system::describe(program));
    return cli::passed_on(128 + program.code);
  }
  context.terminal.error("the program did not start: " + system::describe(program));
  return cli::ExitCode::Internal;
}

cli::ExitCode code_with(const targets::LoopbackReport& report, cli::ExitCode program) {
  const bool is_kept =
      program == cli::ExitCode::Interrupted || program == cli::ExitCode::Environment;
  return report.findings.empty() || is_kept ? program : cli::ExitCode::Findings;
}

std::vector<std::string> describe(const LoopbackRun& run, const LoopbackOptions& options) {
  const targets::LoopbackReport& report = run.report;
  std::vector<std::string> lines;
  if (report.ranks.empty()) {
    lines.emplace_back("loopback: the program made no communicator, or ended before it could say");
    return lines;
  }
  lines.push_back(fmt::format("loopback: {} ranks on one GPU, {} in {} puts, {} by collectives",
                              report.ranks.size(),
                              human_bytes(static_cast<double>(report.put_bytes())), report.puts(),
                              human_bytes(static_cast<double>(report.collective_bytes()))));
  const Pacing pacing = pacing_of(run, options);
  if (pacing == Pacing::None) {
    lines.emplace_back("unpaced: no network is modelled; --topology NAME models one");
  } else if (const auto error = report.pacing_error()) {
    lines.push_back(
        fmt::format("paced as {}: {} transfers took {:.1f} % ({:.1f} us) more or less than "
                    "modelled on average, "
                    "at worst {:.1f} %",
                    options.network->name, error->transfers, 100 * error->mean, error->mean_off_us,
                    100 * error->worst));
    if (error->mean > kTooLong)
      lines.emplace_back(
          "transfers this small take longer on this GPU than on that network: their times are this "
          "GPU's");
  }
  if (pacing == Pacing::Partly) {
    lines.emplace_back(
        "loads and stores of peers' memory cannot be paced: they ran at this GPU's own speed, so "
        "this time must not be compared with that of a program that puts instead");
  }
  if (report.unreadable > 0)
    lines.push_back(fmt::format("{} lines of the report make no sense", report.unreadable));
  return lines;
}

DelayVerdict judge_delay(double one, double other, double delayed, double delay, bool delivers) {
  if (!delivers) return DelayVerdict::NothingCame;
  const double growth = delayed - std::max(one, other);
  if (growth >= kGrowth * delay && std::abs(one - other) < kSteady * delay)
    return DelayVerdict::Waits;
  if (std::abs(one - other) >= kSteady * delay) return DelayVerdict::Inconclusive;
  return DelayVerdict::NobodyWaits;
}

Result<cli::ExitCode> run_loopback(cli::Context& context,
                                   const LoopbackOptions& options,
                                   const std::vector<std::string>& argv) {
  CUCO_TRY_ASSIGN(const LoopbackRun run,
                  targets::run_on_loopback(options, argv, cli::InterruptScope::requested,
                                           targets::RunStreams{.out = context.json ? 2 : 1}));
  const cli::ExitCode code = code_of(context, run);
  if (run.run.ending.interrupted) return code;
  if (context.json) context.terminal.write(as_json(run, options, code));
  tell(context, run, options);
  return code;
}

Result<cli::ExitCode> probe_loopback(cli::Context& context,
                                     const ProbeFlags& flags,
                                     const LoopbackOptions& options,
                                     const std::vector<std::string>& argv) {
  CUCO_TRY_ASSIGN(const std::int64_t delay_ps, flags.delay_ps());
  std::vector<LoopbackRun> runs;
  for (const bool is_late : {false, false, true}) {
    LoopbackOptions these = options;
    these.delay_us = is_late ? std::max<std::int64_t>(1, delay_ps / 1'000'000) : 0;
    CUCO_TRY_ASSIGN(
        LoopbackRun run,
        targets::run_on_loopback(these, argv, cli::InterruptScope::requested, std::nullopt));
    if (run.run.ending.interrupted) return cli::ExitCode::Interrupted;
    runs.push_back(std::move(run));
    if (runs.size() > 1) continue;
    context.terminal.pass_on(runs.front().run.out);
    const cli::ExitCode code = code_of(context, runs.front());
    if (code == cli::ExitCode::Done) continue;
    context.terminal.note("{}", runs.front().run.errors);
    tell(context, runs.front(), options);
    return code;
  }
  const LoopbackRun& plain = runs[0];
  const LoopbackRun& late = runs[2];
  const std::string why_not =
      targets::why_not_comparable(pacing_of(plain, options), pacing_of(late, options));
  if (!why_not.empty()) {
    context.terminal.error(why_not);
    return cli::ExitCode::JobFailed;
  }
  context.terminal.note("every delivery {} later, measured on loopback: {:.1f} ms → {:.1f} ms",
                        flags.delay, 1e3 * std::max(time_of(plain), time_of(runs[1])),
                        1e3 * time_of(late));
  if (prints_the_same(plain, runs[1]) && !prints_the_same(plain, late)) {
    context.terminal.error("the result depends on when deliveries arrive");
    return cli::ExitCode::Findings;
  }
  switch (judge_delay(time_of(plain), time_of(runs[1]), time_of(late),
                      static_cast<double>(delay_ps) * 1e-12, plain.report.puts() > 0)) {
    case DelayVerdict::Waits:
      context.terminal.note(
          "somebody waits for a delivery; whether each wait does, --on virtual tells");
      return cli::ExitCode::Done;
    case DelayVerdict::NothingCame:
      context.terminal.note("no rank puts anything to another: there is no delivery to hold back");
      return cli::ExitCode::Done;
    case DelayVerdict::Inconclusive:
      context.terminal.note("two runs without a delay differ too much to tell: use a longer one");
      return cli::ExitCode::Done;
    case DelayVerdict::NobodyWaits:
      break;
  }
  context.terminal.error(
      "the time does not grow with the delay: nobody waits for what is delivered");
  return cli::ExitCode::Findings;
}

}  // namespace cuco::run
