// SPDX-License-Identifier: Apache-2.0
#include "report/facts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "report/progress.h"

namespace cuco::report {
namespace {
using candidate::Entry;
using candidate::Number;
using candidate::RunState;
using candidate::Scored;

bool is_there(const RunState& state, Number number) {
  return number >= 0 && static_cast<std::size_t>(number) < state.entries.size();
}

const Entry& entry_at(const RunState& state, Number number) {
  return state.entries[static_cast<std::size_t>(number)];
}

/// "backend, chunk": the dimensions in which two designs differ.
std::string changed(const design::Directive& before, const design::Directive& after) {
  std::vector<std::string> parts;
  if (before.backend != after.backend) parts.emplace_back("backend");
  if (before.placement != after.placement) parts.emplace_back("placement");
  if (before.sync != after.sync) parts.emplace_back("synchronisation");
  if (before.issuer != after.issuer) parts.emplace_back("issuer");
  if (before.chunk != after.chunk) parts.emplace_back("chunk");
  if (before.kernel != after.kernel) parts.emplace_back("kernels");
  return join(parts, ", ");
}

/// An option as a person would write it; empty where nothing was chosen.
std::string option_text(const Json& options, const char* key) {
  const auto found = options.find(key);
  if (found == options.end()) return {};
  if (found->is_string()) return found->get<std::string>();
  if (found->is_array()) {
    std::vector<std::string> words;
    for (const Json& word : *found) {
      if (word.is_string()) words.push_back(word.get<std::string>());
    }
    return join(words, ", ");
  }
  if (found->is_number()) return fmt::format("{:g}", found->get<double>());
  return {};
}

/// NCCL_VERSION_CODE as NCCL's documents write it: 22809 is 2.28.9.
std::string nccl_text(const std::string& code) {
  int number = 0;
  const auto [end, error] = std::from_chars(code.data(), code.data() + code.size(), number);
  if (error != std::errc() || end != code.data() + code.size() || number < 10000) return code;
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100, number % 100);
}

}  // namespace

std::string workload_name(const RunState& state) {
  if (!state.started) return "?";
  const std::filesystem::path path(state.started->workload);
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

std::optional<double> speedup_of(const Entry& entry) {
  const Scored* scored = entry.scored();
  if (scored == nullptr || scored->seconds <= 0 || scored->baseline_seconds <= 0) {
    return std::nullopt;
  }
  return scored->baseline_seconds / scored->seconds;
}

bool is_on_full_shapes(const Entry& entry) {
  return entry.scored() != nullptr &&
         entry.outcomes.rbegin()->first.fidelity >= candidate::Fidelity::Scaled;
}

std::vector<std::pair<std::string, std::string>> asked(const RunState& state) {
  std::vector<std::pair<std::string, std::string>> lines;
  if (!state.started) return lines;
  const auto add = [&](const char* label, const std::string& value) {
    if (!value.empty()) lines.emplace_back(label, value);
  };
  const auto& started = *state.started;
  add("program", started.workload);
  add("target", fmt::format("{}, {}", started.target, started.hardware));
  if (const auto options = parse_json(started.options); options && options->is_object()) {
    // Named one by one: what else is among the options (a secret) is nobody's business.
    add("topology", option_text(*options, "topology"));
    add("proposers", option_text(*options, "proposers"));
    add("candidates", option_text(*options, "candidates"));
    const auto seconds = option_text(*options, "budget_seconds");
    if (seconds != "0") add("budget", seconds.empty() ? "" : seconds + " s");
    add("policy", option_text(*options, "policy"));
  }
  add("seed", std::to_string(started.seed));
  const auto& from = started.provenance;
  if (!from.nvcc.empty()) add("compiler", "nvcc " + from.nvcc);
  add("NCCL", nccl_text(from.nccl));
  add("cuco", from.cuco);
  add("workload's hash", from.workload);
  return lines;
}

std::string scale_text(const candidate::ShapeTime& shape) {
  const candidate::ScaleModel& model = shape.scale_model;
  // 1/1 is the shape itself.
  if (!model.is_used() || model.factor <= 1) return {};
  const std::string text = fmt::format("as a scale model, 1/{:g}", model.factor);
  if (model.smaller_factor <= 0)
    return model.why_alone.empty() ? text : text + "; alone: " + model.why_alone;
  const double percent = 100 * model.difference(shape.seconds);
  return text + fmt::format("; 1/{:g} takes {:.0f} % {}", model.smaller_factor, std::abs(percent),
                            percent < 0 ? "less" : "more");
}

std::string drawn_text(const RunState& state) {
  const auto count = [&](std::string_view verdict) {
    const auto kinds = rejected(state);
    const auto found = std::ranges::find(kinds, verdict, &Rejected::verdict);
    return found == kinds.end() ? 0 : found->count;
  };
  return fmt::format(
      "Inputs, drawn shapes and schedules come from the machine's secret and seed {}: another seed "
      "tries others. What is tried, and the attacks that the judge is tested with, are in cuco's "
      "docs/guides/judge.md and docs/attacks.md. Of this run's candidates {} used what is not "
      "allowed, and {} were faster than physics allows.",
      state.started ? state.started->seed : 0, count("screen-rejected"), count("quarantined"));
}

std::string beside_text(const RunState& state, const Beside& beside) {
  const auto* scored = std::get_if<candidate::Scored>(&beside.outcome);
  const Entry* best = winner(state);
  if (scored == nullptr || best == nullptr || scored->seconds <= 0)
    return fmt::format("{}: {}", beside.name, candidate::summary(beside.outcome));
  return fmt::format("{}: {}, {:.2f}x the seed's speed; the winner has {:.2f}x that of {}",
                     beside.name, time_text(*scored), scored->baseline_seconds / scored->seconds,
                     scored->seconds / best->scored()->seconds, beside.name);
}

std::vector<LineageStep> lineage_of(const RunState& state, Number number) {
  std::vector<LineageStep> steps;
  std::set<Number> seen;  // a damaged file must not make this endless
  for (std::optional<Number> at = number; at && is_there(state, *at) && seen.insert(*at).second;) {
    const Entry& entry = entry_at(state, *at);
    LineageStep step{.number = *at,
                     .design = design_of(entry),
                     .because = entry.candidate.lineage.because,
                     .speedup = speedup_of(entry)};
    at = entry.candidate.lineage.parent;
    if (at && is_there(state, *at)) {
      const Entry& parent = entry_at(state, *at);
      step.changed = changed(parent.candidate.directive, entry.candidate.directive);
      const auto before = *at == candidate::kSeed ? std::optional(1.0) : speedup_of(parent);
      if (before && step.speedup) step.gain = *step.speedup / *before;
    }
    steps.push_back(std::move(step));
  }
  // Those that were begun from nothing else began from the seed.
  if (!steps.empty() && steps.back().number != candidate::kSeed && !state.entries.empty())
    steps.push_back({.number = candidate::kSeed, .design = design_of(state.entries.front())});
  std::ranges::reverse(steps);
  return steps;
}

std::vector<Rejected> rejected(const RunState& state) {
  std::map<std::string, Rejected> kinds;
  for (const Entry& entry : state.entries) {
    if (!entry.turned_down()) continue;
    const std::string word(candidate::verdict(*entry.latest()));
    Rejected& kind = kinds[word];
    if (kind.count++ == 0) {
      kind.verdict = word;
      kind.example = entry.candidate.number;
      kind.text = candidate::summary(*entry.latest());
    }
  }
  std::vector<Rejected> list;
  for (auto& [word, kind] : kinds)
    list.push_back(std::move(kind));
  std::ranges::stable_sort(list, std::greater{}, &Rejected::count);
  return list;
}

std::vector<PredictedAndMeasured> predicted_and_measured(const RunState& state) {
  std::vector<PredictedAndMeasured> pairs;
  for (const Entry& entry : state.entries) {
    const Scored* predicted = entry.scored(candidate::TargetKind::Virtual);
    const Scored* measured = nullptr;
    for (const auto& [rung, outcome] : entry.outcomes) {
      if (candidate::is_predicted(rung.target)) continue;
      if (const auto* scored = std::get_if<Scored>(&outcome)) measured = scored;
    }
    if (predicted != nullptr && measured != nullptr)
      pairs.push_back({entry.candidate.number, *predicted, *measured});
  }
  return pairs;
}

Effort effort_of(const RunState& state) {
  Effort effort{.wall_seconds = static_cast<double>(state.last_ms - state.started_ms) / 1000,
                .calls = state.calls,
                .tokens = state.tokens};
  const auto add = [&](const std::vector<candidate::Exchange>& exchanges) {
    for (const auto& exchange : exchanges) {
      if (exchange.dollars < 0) ++effort.unpriced;
      effort.dollars += std::max(0.0, exchange.dollars);
    }
  };
  for (const Entry& entry : state.entries) {
    effort.judged += entry.outcomes.empty() ? 0 : 1;
    effort.judge_seconds += entry.wall_seconds;
    add(entry.exchanges);
  }
  for (const auto& [decision, exchanges] : state.unused_exchanges)
    add(exchanges);
  return effort;
}

}  // namespace cuco::report
