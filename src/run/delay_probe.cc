// SPDX-License-Identifier: Apache-2.0
#include "run/delay_probe.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/terminal/interrupt.h"
#include "targets/virtual/run_trace.h"

namespace cuco::run {
namespace {

struct Delivery {
  std::uint64_t first = 0;
  std::uint64_t bytes = 0;
  std::int64_t sent = 0;
  std::int64_t arrived = 0;
  bool is_completion = false;
};

/// One launch's looks at one line.
struct Look {
  int device = 0;
  std::string kernel;
  std::string where;
  std::int64_t first = 0;
  std::int64_t last = 0;
  std::vector<std::uint64_t> words;
  int repeated = 0;         ///< Of these, waited for by an earlier launch, too,
  int accept_the_last = 0;  ///< and satisfied by what that one demanded.
};

/// In the order in which they ended.
std::vector<Look> looks_of(const Json& report) {
  std::vector<Look> looks;
  for (const Json& phase : report["phases"]) {
    for (const Json& wait : phase["waits"]) {
      const int line = wait.value("line", 0);
      const std::string file = std::filesystem::path(wait.value("file", "")).filename().string();
      looks.push_back({phase.value("device", 0), phase.value("kernel", ""),
                       line == 0 ? "(no line)" : fmt::format("{}:{}", file, line),
                       wait.value("first_ps", std::int64_t{0}),
                       wait.value("last_ps", std::int64_t{0}),
                       wait.value("addresses", std::vector<std::uint64_t>{}),
                       wait.value("repeated", 0), wait.value("accept_the_last", 0)});
    }
  }
  std::ranges::stable_sort(looks, {}, &Look::last);
  return looks;
}

std::vector<Delivery> deliveries_of(const Json& report) {
  std::vector<Delivery> out;
  for (const Json& delivery : report["deliveries"]) {
    out.push_back(
        {delivery.value("address", std::uint64_t{0}), delivery.value("bytes", std::uint64_t{0}),
         delivery.value("sent_ps", std::int64_t{0}), delivery.value("arrived_ps", std::int64_t{0}),
         delivery.value("is_completion", false)});
  }
  return out;
}

/// What came to each word that somebody looks at.
class Arrivals {
 public:
  Arrivals(const std::vector<Look>& looks, const std::vector<Delivery>& deliveries) {
    for (const Look& look : looks) {
      for (const std::uint64_t word : look.words)
        by_word_[word];
    }
    for (const Delivery& delivery : deliveries) {
      const auto end = by_word_.lower_bound(delivery.first + delivery.bytes);
      for (auto word = by_word_.lower_bound(delivery.first); word != end; ++word)
        word->second.push_back(delivery);
    }
  }
  [[nodiscard]] const std::vector<Delivery>& at(std::uint64_t word) const {
    return by_word_.at(word);
  }
  [[nodiscard]] bool reach(const Look& look) const {
    return std::ranges::any_of(look.words, [&](std::uint64_t word) { return !at(word).empty(); });
  }
  /// Did one come while it looked? They may be there a little before the look that sees them.
  [[nodiscard]] bool end(const Look& look, bool completions) const {
    return std::ranges::any_of(look.words, [&](std::uint64_t word) {
      return std::ranges::any_of(at(word), [&](const Delivery& delivery) {
        return delivery.is_completion == completions && delivery.arrived >= look.first &&
               delivery.arrived <= look.last;
      });
    });
  }

 private:
  std::map<std::uint64_t, std::vector<Delivery>> by_word_;
};

/// The waits of one line and one word on one device: how many there are, and have ended.
struct Turns {
  std::uint64_t all = 0;
  std::uint64_t ended = 0;
};
using TurnKey = std::tuple<int, std::string, std::string, std::uint64_t>;

/// Lines whose every wait demands more than the one before it, by kernel: nothing older satisfies
/// them, however far ahead their senders may be.
std::set<std::pair<std::string, std::string>> lines_of_epochs(const std::vector<Look>& looks) {
  std::map<std::pair<std::string, std::string>, std::pair<int, int>> lines;
  for (const Look& look : looks) {
    auto& [repeated, accept_the_last] = lines[{look.kernel, look.where}];
    repeated += look.repeated;
    accept_the_last += look.accept_the_last;
  }
  std::set<std::pair<std::string, std::string>> epochs;
  for (const auto& [line, count] : lines) {
    if (count.first > 0 && count.second == 0) epochs.insert(line);
  }
  return epochs;
}

/// Does it leave while something is on its way to the word, and with less than its share there?
bool leaves_early(const Look& look, const std::vector<Delivery>& deliveries, const Turns& turns) {
  std::uint64_t sent_in_all = 0;
  std::uint64_t there = 0;
  bool on_its_way = false;
  for (const Delivery& delivery : deliveries) {
    if (delivery.is_completion) continue;
    ++sent_in_all;
    there += delivery.arrived <= look.last ? 1 : 0;
    on_its_way |= delivery.sent <= look.last && delivery.arrived > look.last;
  }
  return on_its_way && there < turns.ended * sent_in_all / turns.all;
}

std::string microseconds(std::int64_t picoseconds) {
  return fmt::format("{:.1f} us", static_cast<double>(picoseconds) / 1e6);
}

Result<targets::KeptRun> run_with(const targets::ProgramStart& start,
                                  targets::ServerOptions options,
                                  std::int64_t delay,
                                  bool completions_on_time = false) {
  options.reports = true;
  options.delivery_delay = delay;
  options.completions_on_time = completions_on_time;
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

std::vector<ProbedWait> probe_waits(const Json& plain, const Json& delayed) {
  const std::vector<Look> looks = looks_of(delayed);
  const std::vector<Look> plain_looks = looks_of(plain);
  const auto epochs = lines_of_epochs(plain_looks);
  const Arrivals arrivals(looks, deliveries_of(delayed));
  std::map<TurnKey, Turns> turns;
  for (const Look& look : looks) {
    for (const std::uint64_t word : look.words)
      ++turns[{look.device, look.kernel, look.where, word}].all;
  }
  std::map<std::pair<std::string, std::string>, ProbedWait> waits;
  for (const Look& look : looks) {
    bool early = false;
    for (const std::uint64_t word : look.words) {
      Turns& turn = turns[{look.device, look.kernel, look.where, word}];
      ++turn.ended;
      early |= leaves_early(look, arrivals.at(word), turn);
    }
    if (!arrivals.reach(look)) continue;
    ProbedWait& wait = waits[{look.kernel, look.where}];
    wait.kernel = look.kernel;
    wait.where = look.where;
    ++wait.launches;
    wait.delayed_ps = std::max(wait.delayed_ps, look.last - look.first);
    if (arrivals.end(look, false)) {
      ++wait.for_arrivals;
    } else if (early && !epochs.contains({look.kernel, look.where})) {
      wait.not_waited.push_back(look.device);
    } else if (arrivals.end(look, true)) {
      ++wait.for_completions;
    }
  }
  for (const Look& look : plain_looks) {
    const auto found = waits.find({look.kernel, look.where});
    if (found == waits.end()) continue;
    found->second.plain_ps = std::max(found->second.plain_ps, look.last - look.first);
  }
  std::vector<ProbedWait> out;
  for (auto& [key, wait] : waits)
    out.push_back(std::move(wait));
  return out;
}

std::vector<ProbedWait> joined(std::vector<ProbedWait> arrivals_late,
                               const std::vector<ProbedWait>& all_late) {
  for (const ProbedWait& other : all_late) {
    const auto same = std::ranges::find_if(arrivals_late, [&](const ProbedWait& wait) {
      return wait.kernel == other.kernel && wait.where == other.where;
    });
    if (same == arrivals_late.end()) {
      arrivals_late.push_back(other);
    } else if (other.not_waited.size() > same->not_waited.size()) {
      *same = other;
    }
  }
  return arrivals_late;
}

namespace {

/// What ended the waits of a line, in words.
std::string endings_of(const ProbedWait& wait) {
  std::vector<std::string> parts;
  if (wait.is_suspect()) parts.push_back(fmt::format("{} did not wait", wait.not_waited.size()));
  if (wait.for_arrivals > 0) parts.push_back(fmt::format("{} for an arrival", wait.for_arrivals));
  if (wait.for_completions > 0) {
    parts.push_back(fmt::format("{} for the completion of own puts", wait.for_completions));
  }
  const int rest = wait.launches - wait.for_arrivals - wait.for_completions -
                   static_cast<int>(wait.not_waited.size());
  if (rest > 0) parts.push_back(fmt::format("{} had what they need", rest));
  return join(parts, ", ");
}

void tell_waits(cli::Context& context, const std::vector<ProbedWait>& waits) {
  cli::Table table;
  for (const ProbedWait& wait : waits) {
    const std::string endings = endings_of(wait);
    table.row({targets::kernel_name(wait.kernel), wait.where,
               fmt::format("{} launch{}", wait.launches, wait.launches == 1 ? "" : "es"),
               microseconds(wait.plain_ps) + " → " + microseconds(wait.delayed_ps),
               wait.is_suspect() ? context.terminal.styled(cli::Style::Bad, endings) : endings});
  }
  context.terminal.note("{}", table.text(2));
}

}  // namespace

Result<cli::ExitCode> run_probe(cli::Context& context,
                                const ProbeFlags& flags,
                                const targets::ProgramStart& start,
                                const targets::ServerOptions& options) {
  CUCO_TRY_ASSIGN(const std::int64_t delay, flags.delay_ps());
  CUCO_TRY_ASSIGN(const targets::KeptRun plain, run_with(start, options, 0));
  if (plain.ending.interrupted) return cli::ExitCode::Interrupted;
  context.terminal.pass_on(plain.out);
  CUCO_TRY_ASSIGN(const targets::KeptRun delayed, run_with(start, options, delay, true));
  if (delayed.ending.interrupted) return cli::ExitCode::Interrupted;
  CUCO_TRY_ASSIGN(const targets::KeptRun all_delayed, run_with(start, options, delay));
  if (all_delayed.ending.interrupted) return cli::ExitCode::Interrupted;
  if (plain.ending.server_failed || delayed.ending.server_failed ||
      all_delayed.ending.server_failed) {
    context.terminal.error("a run did not finish; see above");
    context.terminal.note("{}{}{}", plain.errors, delayed.errors, all_delayed.errors);
    return cli::ExitCode::Internal;
  }
  CUCO_TRY_ASSIGN(const Json before, parse_json(plain.report));
  CUCO_TRY_ASSIGN(const Json after, parse_json(delayed.report));
  CUCO_TRY_ASSIGN(const Json all_after, parse_json(all_delayed.report));
  const std::vector<ProbedWait> waits =
      joined(probe_waits(before, after), probe_waits(before, all_after));
  const auto suspects = std::ranges::count_if(waits, &ProbedWait::is_suspect);
  context.terminal.note("every delivery {} later, predicted for {}:", flags.delay,
                        after.value("gpu", "?"));
  const auto transfers = after.value("transfers", std::uint64_t{0});
  if (!waits.empty()) {
    tell_waits(context, waits);
  } else if (!after["deliveries"].empty()) {
    context.terminal.note("  no kernel polls what is delivered");
  } else if (transfers != 0) {
    context.terminal.note("  {} deliveries by collectives and copies; no kernel polls for one",
                          transfers);
  } else {
    context.terminal.note("  nothing was delivered between GPUs, so there is no wait to probe");
  }
  std::vector<std::string> changes = differences(plain, delayed);
  if (changes.empty()) changes = differences(plain, all_delayed);
  for (const std::string& line : changes)
    context.terminal.note("  the result changes: {}", line);
  if (suspects == 0 && changes.empty()) return cli::passed_on(plain.ending.program.code);
  if (suspects == 0) {
    context.terminal.error("the result depends on when deliveries arrive");
    return cli::ExitCode::Findings;
  }
  context.terminal.error(fmt::format(
      "{} went on while data was in flight to the word that it polls, and fewer had arrived there "
      "than its turn needs: something older satisfied it",
      suspects == 1 ? "a wait" : fmt::format("each of {} waits", suspects)));
  return cli::ExitCode::Findings;
}

}  // namespace cuco::run
