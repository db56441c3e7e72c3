// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/pairs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "judge/score.h"
#include "judge/trial/trial.h"
#include "measure/samples.h"

namespace cuco::judge {

using candidate::Outcome;

namespace {

/// What a launch and the end of it cost hides what is shorter: such iterations are also timed
/// several at a time.
constexpr double kShort = 100e-6;

/// On a disturbed GPU so many starts are made at most for each that may count.
constexpr std::size_t kStartsForOne = 3;

std::optional<Outcome> left_running(const TrialTimes& incumbent, const TrialTimes& candidate) {
  const double busy = measure::left_running(incumbent.samples, candidate.samples);
  if (busy <= 0) return std::nullopt;
  candidate::Finding finding;
  finding.kind = "work left running";
  finding.message = fmt::format(
      "after cuco_run and its stream had ended, the GPU was busy for {:.0f} us longer than after "
      "the incumbent",
      busy * 1e6);
  finding.hint = "all work must have ended when the stream that cuco_run was given has";
  return candidate::Findings{{std::move(finding)}, {}};
}

}  // namespace

namespace {

/// "; 4.2 us each of several at a time, 23.0 us alone (seed: 8.1 us, 27.0 us)"
std::string both_figures(const PairTimes& times) {
  const auto figure = [](const TrialTimes& of, bool together) {
    return human_seconds(median(seconds_of(of, together)));
  };
  if (seconds_of(times.candidate, true).empty()) return {};
  return fmt::format("; {} each of several at a time, {} alone (seed: {}, {})",
                     figure(times.candidate, true), figure(times.candidate, false),
                     figure(times.incumbent, true), figure(times.incumbent, false));
}

}  // namespace

std::string describe(const MeasuredShape& measured) {
  const PairTimes& times = measured.times;
  std::string dropped;
  if (times.throttled + times.disturbed > 0) {
    dropped = fmt::format(" ({} samples dropped: {} throttled, {} disturbed)",
                          times.throttled + times.disturbed, times.throttled, times.disturbed);
  }
  return fmt::format(
      "{}: {} after {} starts of both with {} pairs{}, speedup between {:.3f} and {:.3f} (95 %, at "
      "any time){}",
      measured.shape,
      times.decision == measure::Decision::Promote ? "faster than the seed"
                                                   : "not shown to be faster",
      times.starts, seconds_of(times.candidate, false).size(), dropped, times.speedup.low,
      times.speedup.high, both_figures(times));
}

namespace {

constexpr int kIncumbent = 0;
constexpr int kCandidate = 1;

/// Both programs, started for some pairs.
class Bout {
 public:
  using Specs = std::array<const TrialSpec*, 2>;

  Bout(const Specs& specs, int number) : specs_(specs), number_(number) {}

  /// What became of the candidate, if it is not right. An incumbent that is not is an Error.
  Result<std::optional<Outcome>> run(BenchMaker& maker, int pairs, measure::SampleFilter& filter);

  /// Geometric means of the pairs that count; nothing if none does.
  [[nodiscard]] std::optional<std::array<double, 2>> means() const {
    if (counted_ == 0) return std::nullopt;
    return std::array{std::exp(logs_[0] / counted_), std::exp(logs_[1] / counted_)};
  }
  [[nodiscard]] const TrialTimes& times(int program) const { return trials_.at(program)->times(); }

 private:
  Result<std::optional<Outcome>> judge(int program, std::optional<Outcome> outcome) const {
    if (outcome && program == kIncumbent) {
      return Error{ErrorKind::InvalidInput, "the incumbent fails: " + candidate::summary(*outcome)};
    }
    return outcome;
  }
  /// Both programs do so many iterations at a time. Nothing of a disturbed GPU is `good`.
  struct Times {
    std::array<double, 2> seconds{};
    bool good = true;
  };
  Result<std::variant<Times, Outcome>> time_both(int pair,
                                                 int first,
                                                 int count,
                                                 measure::SampleFilter* filter);
  /// How many at a time, in turn: alone, and if that is short, several. How many and what comes
  /// first is secret: whoever puts work off until the last call does not know which it is.
  [[nodiscard]] std::vector<int> counts(int first) const;
  [[nodiscard]] bool is_short() const {
    return specs_.front()->wanted_sets() > 1 && times(kIncumbent).seconds.back() < kShort &&
           times(kCandidate).seconds.back() < kShort;
  }
  /// Who goes first alternates, and so does who was started first.
  [[nodiscard]] static std::array<int, 2> order(int number) {
    return number % 2 == 0 ? std::array{kIncumbent, kCandidate}
                           : std::array{kCandidate, kIncumbent};
  }

  Specs specs_;
  int number_;
  std::array<std::optional<Trial>, 2> trials_;
  std::array<double, 2> logs_{};
  int counted_ = 0;
  bool is_short_ = false;  ///< Both programs' iterations are.
};

std::vector<int> Bout::counts(int first) const {
  const TrialSpec& spec = *specs_.front();
  const int most = spec.wanted_sets();
  if (!is_short_ || most < 2) return {1};
  const std::uint64_t draw = spec.key("together", first);
  const int least = std::max(2, most / 2);
  const int several = least + static_cast<int>(draw / 2 % static_cast<unsigned>(most - least + 1));
  return draw % 2 == 0 ? std::vector{1, several} : std::vector{several, 1};
}

Result<std::variant<Bout::Times, Outcome>> Bout::time_both(int pair,
                                                           int first,
                                                           int count,
                                                           measure::SampleFilter* filter) {
  Times both;
  for (const int program : order(pair)) {
    const auto index = static_cast<std::size_t>(program);
    CUCO_TRY_ASSIGN(auto timed, trials_.at(index)->time_batch(first, count));
    if (auto* outcome = std::get_if<Outcome>(&timed)) {
      CUCO_TRY_ASSIGN(auto judged, judge(program, std::move(*outcome)));
      return std::variant<Times, Outcome>(*std::move(judged));
    }
    both.seconds.at(index) = std::get<double>(timed);
    if (filter == nullptr) continue;
    const measure::Sample& sample = times(program).samples.back();
    both.good = filter->look_at(sample) == measure::Quality::Good && both.good;
  }
  return std::variant<Times, Outcome>(both);
}

Result<std::optional<Outcome>> Bout::run(BenchMaker& maker,
                                         int pairs,
                                         measure::SampleFilter& filter) {
  for (const int program : order(number_)) {
    const auto index = static_cast<std::size_t>(program);
    const TrialSpec& spec = *specs_.at(index);
    CUCO_TRY_ASSIGN(Bench bench, start_bench(maker, spec.machine));
    CUCO_TRY_ASSIGN(auto ranks, maker.start_ranks(spec, *bench.target));
    trials_.at(index).emplace(spec, std::move(bench), std::move(ranks));
    CUCO_TRY_ASSIGN(auto trouble, trials_.at(index)->begin());
    CUCO_TRY_ASSIGN(auto outcome, judge(program, std::move(trouble)));
    if (outcome) return outcome;
  }
  // The first pair warms up: code is compiled and loaded in it.
  const int stride = specs_.front()->wanted_sets() + 1;
  for (int i = 0; i <= pairs; ++i) {
    const int first = (number_ * (pairs + 1) + i) * stride;
    for (const int count : counts(first)) {
      // Those of several at a time have numbers of their own.
      const int begin = first + (count > 1 ? 1 : 0);
      CUCO_TRY_ASSIGN(auto timed, time_both(i, begin, count, i == 0 ? nullptr : &filter));
      if (auto* outcome = std::get_if<Outcome>(&timed)) return std::optional(std::move(*outcome));
      const Times& both = std::get<Times>(timed);
      const bool decides = i > 0 && (count > 1) == is_short_;
      if (!decides || !both.good) continue;
      ++counted_;
      for (std::size_t program = 0; program < 2; ++program)
        logs_.at(program) += std::log(both.seconds.at(program));
    }
    if (i == 0) is_short_ = is_short();
  }
  return std::optional<Outcome>();
}

void append(TrialTimes& all, const TrialTimes& bout) {
  all.seconds.insert(all.seconds.end(), bout.seconds.begin() + 1, bout.seconds.end());
  all.samples.insert(all.samples.end(), bout.samples.begin() + 1, bout.samples.end());
  all.iterations.insert(all.iterations.end(), bout.iterations.begin() + 1, bout.iterations.end());
}

}  // namespace

Result<PairResult> run_pairs(const TrialSpec& incumbent,
                             const TrialSpec& candidate,
                             BenchMaker& maker,
                             const PairRules& rules) {
  measure::PairedTest test(rules.test);
  measure::SampleFilter filter;
  PairTimes times;
  const int most = static_cast<int>(kStartsForOne * rules.test.maximum_pairs);
  for (int i = 0; i < most && test.decision() == measure::Decision::Continue; ++i) {
    Bout bout({&incumbent, &candidate}, i);
    CUCO_TRY_ASSIGN(auto outcome, bout.run(maker, rules.pairs_per_start, filter));
    if (outcome) return PairResult(*std::move(outcome));
    append(times.incumbent, bout.times(kIncumbent));
    append(times.candidate, bout.times(kCandidate));
    if (const auto means = bout.means()) test.add((*means)[0], (*means)[1]);
  }
  if (auto outcome = left_running(times.incumbent, times.candidate)) {
    return PairResult(*std::move(outcome));
  }
  times.decision = test.decision();
  times.speedup = test.speedup_interval();
  times.starts = test.pairs();
  times.throttled = filter.throttled();
  times.disturbed = filter.disturbed();
  return PairResult(std::move(times));
}

}  // namespace cuco::judge
