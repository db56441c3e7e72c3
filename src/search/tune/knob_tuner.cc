// SPDX-License-Identifier: Apache-2.0
#include "search/tune/knob_tuner.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "program/tokens.h"

namespace cuco::search {
namespace {
using candidate::History;
using candidate::Judged;
using candidate::Number;
using program::Turn;

constexpr double kHope = 0.02;            ///< Of a turn that nobody has tried.
constexpr double kLittleHope = 0.002;     ///< Of one that only makes room.
constexpr double kLeastPromise = 0.0015;  ///< Less is not worth a candidate.
constexpr double kFailed = -0.3;          ///< What a turn that breaks a program counts as,
constexpr double kBreaks = -0.1;          ///< and from where on the same turn elsewhere would, too.
constexpr double kLessHope = 0.25;        ///< Of a turn whose direction did not gain elsewhere.
constexpr std::size_t kMostPrograms = 3;  ///< The fastest, whose knobs are turned.
constexpr std::size_t kMostKnobs = 12;

double speedup_of(const Judged& judged) {
  if (judged.candidate.number == candidate::kSeed) return 1;
  const auto* scored = judged.outcome ? std::get_if<candidate::Scored>(&*judged.outcome) : nullptr;
  return scored == nullptr || scored->seconds <= 0 ? 0 : scored->baseline_seconds / scored->seconds;
}

/// A number that bounds something is seldom what makes a program slow.
bool is_limit(std::string_view knob) {
  std::string lower(knob);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower.find("max") != std::string::npos || lower.find("most") != std::string::npos ||
         lower.find("shift") != std::string::npos || lower.find("align") != std::string::npos;
}

std::vector<std::int64_t> settings_around(std::int64_t value) {
  std::vector<std::int64_t> list = {2 * value};
  if (value > 1) list.push_back(value / 2);
  return list;
}

std::string text_of(const candidate::Candidate& candidate) {
  return candidate.source.files().front().text;
}

}  // namespace

const std::vector<Turn>& KnobTuner::turns_of(const candidate::Candidate& child,
                                             const candidate::Candidate& parent) {
  const auto key = parent.code_hash + child.code_hash;
  const auto found = read_.find(key);
  if (found != read_.end()) return found->second;
  return read_.emplace(key, program::turns_between(text_of(parent), text_of(child))).first->second;
}

KnobTuner::Effects KnobTuner::effects(const History& history) {
  Effects effects;
  for (const Judged& judged : history) {
    const auto& lineage = judged.candidate.lineage;
    if (lineage.proposer != name() || !lineage.parent || !judged.outcome) continue;
    // What was not judged, being there already, says nothing.
    if (std::holds_alternative<candidate::ProposalRejected>(*judged.outcome)) continue;
    const Judged& parent = history[*lineage.parent];
    const double before = speedup_of(parent);
    const double after = speedup_of(judged);
    if (before <= 0) continue;
    const auto& turns = turns_of(judged.candidate, parent.candidate);
    const double gain = after > 0 ? std::log(after / before) : kFailed;
    for (const Turn& turn : turns) {
      for (Effect* effect :
           {&effects.turns[turn], &effects.directions[{turn.knob, turn.to > turn.from}]}) {
        effect->sum += gain / static_cast<double>(turns.size());
        ++effect->count;
      }
    }
  }
  return effects;
}

KnobTuner::Option KnobTuner::option(const Turn& turn, const Effects& effects) {
  const auto same = effects.turns.find(turn);
  if (same != effects.turns.end()) {
    const double mean = same->second.mean();
    return {{turn}, mean, mean > kLeastPromise};
  }
  const double hope = is_limit(turn.knob) ? kLittleHope : kHope;
  const auto alike = effects.directions.find({turn.knob, turn.to > turn.from});
  if (alike == effects.directions.end()) return {{turn}, hope, false};
  const double mean = alike->second.mean();
  // It may have been too far there, and be right here; but not if it broke the program.
  const double promise = mean > kBreaks ? std::max(mean, kLessHope * hope) : mean;
  return {{turn}, promise, mean > kLeastPromise};
}

std::vector<KnobTuner::Option> KnobTuner::options(std::string_view text, const Effects& effects) {
  std::vector<Option> singles;
  std::vector<Option> gaining;
  auto knobs = program::find_knobs(text);
  std::stable_partition(knobs.begin(), knobs.end(),
                        [](const program::Knob& knob) { return !is_limit(knob.name); });
  if (knobs.size() > kMostKnobs) knobs.resize(kMostKnobs);
  for (const program::Knob& knob : knobs) {
    for (const std::int64_t setting : settings_around(knob.value)) {
      singles.push_back(option({knob.name, knob.value, setting}, effects));
      if (singles.back().has_gained) gaining.push_back(singles.back());
    }
  }
  // What gained is joined, two by two and four by four; one knob goes one way only.
  std::stable_sort(gaining.begin(), gaining.end(),
                   [](const Option& a, const Option& b) { return a.promise > b.promise; });
  std::set<std::string> used;
  std::erase_if(gaining, [&](const Option& option) {
    return !used.insert(option.turns.front().knob).second;
  });
  for (std::size_t together = 2; together <= std::min<std::size_t>(gaining.size(), 4);
       together *= 2) {
    Option joined;
    for (std::size_t i = 0; i < together; ++i) {
      joined.turns.push_back(gaining[i].turns.front());
      joined.promise += gaining[i].promise;
    }
    singles.push_back(std::move(joined));
  }
  std::erase_if(singles, [](const Option& option) { return option.promise < kLeastPromise; });
  std::stable_sort(singles.begin(), singles.end(),
                   [](const Option& a, const Option& b) { return a.promise > b.promise; });
  return singles;
}

std::optional<candidate::Proposal> KnobTuner::turn(const candidate::Task& task,
                                                   Number parent,
                                                   const Effects& known,
                                                   const std::set<std::string>& tried,
                                                   std::size_t* unseen) {
  const candidate::Candidate& from = task.history[parent].candidate;
  const program::Files before = from.source.files();
  const program::File& file = before.front();
  for (const Option& option : options(file.text, known)) {
    std::vector<program::File> files = before.copy();
    files.front().text = program::turned(file.text, option.turns);
    program::Source source(std::move(files));
    if (tried.contains(program::normalised_hash(source))) continue;
    // The first ones are on their way already.
    if (*unseen > 0) {
      --*unseen;
      continue;
    }
    candidate::Proposal made{.source = std::move(source), .directive = from.directive};
    made.lineage.proposer = name();
    made.lineage.island = task.island;
    made.lineage.parent = parent;
    made.lineage.because = fmt::format("#{} with {}", parent, program::to_text(option.turns));
    return made;
  }
  return std::nullopt;
}

Result<std::optional<candidate::ProposerAnswer>> KnobTuner::propose(
    const candidate::Task& task, candidate::ExchangeLog& /*log*/) {
  const std::lock_guard lock(mutex_);
  std::set<std::string> tried;
  std::size_t mine = 0;
  std::vector<std::pair<double, Number>> programs;
  for (const Judged& judged : task.history) {
    if (judged.candidate.source.empty()) continue;
    tried.insert(judged.candidate.code_hash);
    const auto& lineage = judged.candidate.lineage;
    if (lineage.proposer == name() && lineage.phase == task.phase) ++mine;
    const double speedup = speedup_of(judged);
    if (speedup > 0) programs.emplace_back(-speedup, judged.candidate.number);
  }
  std::sort(programs.begin(), programs.end());
  if (programs.size() > kMostPrograms) programs.resize(kMostPrograms);
  const Effects known = effects(task.history);
  std::size_t unseen =
      static_cast<std::size_t>(task.turn) > mine ? static_cast<std::size_t>(task.turn) - mine : 0;
  std::vector<Number> order;
  if (speedup_of(task.history[task.parent]) > 0 &&
      !task.history[task.parent].candidate.source.empty())
    order.push_back(task.parent);
  for (const auto& [speed, number] : programs) {
    if (number != task.parent) order.push_back(number);
  }
  for (const Number parent : order) {
    if (auto made = turn(task, parent, known, tried, &unseen))
      return std::optional(candidate::ProposerAnswer(*std::move(made)));
  }
  return std::optional<candidate::ProposerAnswer>();
}

}  // namespace cuco::search
