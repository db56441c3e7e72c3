// SPDX-License-Identifier: Apache-2.0
#include "run/delay_probe.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/terminal/interrupt.h"
#include "run/profile_view.h"

namespace cuco::run {
namespace {

struct Wait {
  std::string where;
  std::vector<std::uint64_t> addresses;
};
struct Seen {
  std::int64_t started = 0;
  std::int64_t finished = 0;
  std::vector<Wait> waits;
};
using PhaseKey = std::tuple<int, std::string, int>;  ///< Device, kernel, launch.

/// Launches of one kernel are numbered by start time, so that those of two runs can be paired.
std::map<PhaseKey, Seen> phases_of(const Json& report) {
  std::vector<const Json*> sorted;
  for (const Json& phase : report["phases"])
    sorted.push_back(&phase);
  std::ranges::stable_sort(
      sorted, {}, [](const Json* phase) { return phase->value("started_ps", std::int64_t{0}); });
  std::map<std::pair<int, std::string>, int> launches;
  std::map<PhaseKey, Seen> out;
  for (const Json* phase : sorted) {
    const int device = phase->value("device", 0);
    const std::string kernel = phase->value("kernel", "");
    Seen seen{phase->value("started_ps", std::int64_t{0}),
              phase->value("finished_ps", std::int64_t{0}),
              {}};
    for (const Json& wait : (*phase)["waits"]) {
      const int line = wait.value("line", 0);
      const std::string file = std::filesystem::path(wait.value("file", "")).filename().string();
      seen.waits.push_back({line == 0 ? "(no line)" : fmt::format("{}:{}", file, line),
                            wait.value("addresses", std::vector<std::uint64_t>{})});
    }
    out[{device, kernel, launches[{device, kernel}]++}] = std::move(seen);
  }
  return out;
}

/// Is something in flight, at time `at`, to one of the words?
bool is_in_flight(const Json& report, const std::vector<std::uint64_t>& words, std::int64_t at) {
  return std::ranges::any_of(report["deliveries"], [&](const Json& delivery) {
    const auto first = delivery.value("address", std::uint64_t{0});
    const auto bytes = delivery.value("bytes", std::uint64_t{0});
    return delivery.value("sent_ps", std::int64_t{0}) <= at &&
           delivery.value("arrived_ps", std::int64_t{0}) > at &&
           std::ranges::any_of(words, [&](std::uint64_t word) { return word - first < bytes; });
  });
}

std::string microseconds(std::int64_t picoseconds) {
  return fmt::format("{:.1f} us", static_cast<double>(picoseconds) / 1e6);
}

Result<targets::KeptRun> run_with(const targets::ProgramStart& start,
                                  targets::ServerOptions options,
                                  std::int64_t delay) {
  options.reports = true;
  options.delivery_delay = delay;
  return targets::run_and_keep(start, std::move(options), cli::InterruptScope::requested);
}

}  // namespace

void ProbeFlags::declare(cli::Arguments& arguments) {
  arguments.option("--probe-delay", delay, "D",
                   "rerun with every delivery D later (100ms); report waits that do not wait");
}

Result<std::int64_t> ProbeFlags::delay_ps() const {
  double value = 0;
  const auto [end, error] = std::from_chars(delay.data(), delay.data() + delay.size(), value);
  const std::string_view unit(end, static_cast<std::size_t>(delay.data() + delay.size() - end));
  const double scale = unit == "ns"   ? 1e3
                       : unit == "us" ? 1e6
                       : unit == "ms" ? 1e9
                       : unit == "s"  ? 1e12
                                      : 0;
  if (error != std::errc{} || scale == 0 || value <= 0 || value * scale > 1e15) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("--probe-delay: invalid time (examples: 100ms, 5us): {}", delay)};
  }
  return static_cast<std::int64_t>(value * scale);
}

std::vector<ProbedPhase> probe_phases(const Json& plain,
                                      const Json& delayed,
                                      std::int64_t delay_ps) {
  const std::map<PhaseKey, Seen> before = phases_of(plain);
  std::vector<ProbedPhase> out;
  for (const auto& [key, seen] : phases_of(delayed)) {
    const auto found = before.find(key);
    // A kernel that polls nothing has no wait to miss.
    if (found == before.end() || seen.waits.empty()) continue;
    const auto& [device, kernel, launch] = key;
    ProbedPhase phase{kernel, device, launch};
    phase.plain_ps = found->second.finished - found->second.started;
    phase.delayed_ps = seen.finished - seen.started;
    // Half: a part of the delay may overlap with the kernel's computation.
    phase.waited = phase.delayed_ps - phase.plain_ps >= delay_ps / 2;
    for (const Wait& wait : seen.waits) {
      if (is_in_flight(delayed, wait.addresses, seen.finished)) phase.missed.push_back(wait.where);
    }
    out.push_back(std::move(phase));
  }
  return out;
}

Result<cli::ExitCode> run_probe(cli::Context& context,
                                const ProbeFlags& flags,
                                const targets::ProgramStart& start,
                                const targets::ServerOptions& options) {
  CUCO_TRY_ASSIGN(const std::int64_t delay, flags.delay_ps());
  CUCO_TRY_ASSIGN(const targets::KeptRun plain, run_with(start, options, 0));
  if (plain.ending.interrupted) return cli::ExitCode::Interrupted;
  context.terminal.write(plain.out);
  CUCO_TRY_ASSIGN(const targets::KeptRun delayed, run_with(start, options, delay));
  if (delayed.ending.interrupted) return cli::ExitCode::Interrupted;
  if (plain.ending.server_failed || delayed.ending.server_failed) {
    context.terminal.error("a run did not finish; see above");
    context.terminal.note("{}{}", plain.errors, delayed.errors);
    return cli::ExitCode::Internal;
  }
  CUCO_TRY_ASSIGN(const Json before, parse_json(plain.report));
  CUCO_TRY_ASSIGN(const Json after, parse_json(delayed.report));
  const std::vector<ProbedPhase> phases = probe_phases(before, after, delay);
  int suspects = 0;
  cli::Table table;
  for (const ProbedPhase& phase : phases) {
    if (phase.is_suspect()) ++suspects;
    table.row({fmt::format("device {}", phase.device),
               fmt::format("{} #{}", kernel_name(phase.kernel), phase.launch),
               microseconds(phase.plain_ps) + " → " + microseconds(phase.delayed_ps),
               phase.is_suspect() ? context.terminal.styled(
                                        cli::Style::Bad, "did not wait at " + phase.missed.front())
               : phase.waited ? "waits"
                              : "nothing in flight"});
  }
  context.terminal.note("every delivery {} later, predicted for {}:", flags.delay,
                        after.value("gpu", "?"));
  if (after["deliveries"].empty()) {
    context.terminal.note("  nothing was delivered between GPUs, so there is no wait to probe");
  } else if (phases.empty()) {
    context.terminal.note("  no kernel polls anything");
  }
  context.terminal.note("{}", table.text(2));
  for (const std::string& line : differences(plain, delayed))
    context.terminal.note("  the result changes: {}", line);
  if (suspects == 0 && differences(plain, delayed).empty()) {
    return cli::passed_on(plain.ending.program.code);
  }
  if (suspects == 0) {
    context.terminal.error("the result depends on when deliveries arrive");
    return cli::ExitCode::Findings;
  }
  context.terminal.error(fmt::format(
      "{} ended, no later than before, while data was in flight to the word it polls: "
      "something older satisfied its wait",
      suspects == 1 ? "a kernel launch" : fmt::format("each of {} kernel launches", suspects)));
  return cli::ExitCode::Findings;
}

}  // namespace cuco::run
