// SPDX-License-Identifier: Apache-2.0
#include "report/progress.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/counted.h"
#include "base/json.h"
#include "base/text.h"
#include "candidate/event_json.h"
#include "report/baselines.h"
#include "report/forecast_record.h"

namespace cuco::report {
namespace {
using candidate::Entry;
using candidate::RunState;
using candidate::Scored;

std::string tick(bool ok) {
  return ok ? "✓" : "✗";
}

/// Null for a number that the run does not have, as in a truncated recording.
const Entry* entry_of(const RunState& state, candidate::Number number) {
  const auto index = static_cast<std::size_t>(number);
  return number >= 0 && index < state.entries.size() ? &state.entries[index] : nullptr;
}

double speedup(const Entry& entry) {
  const auto* scored = entry.scored();
  if (scored == nullptr || scored->seconds <= 0) return 0;
  return scored->baseline_seconds / scored->seconds;
}

/// " on medium fp32" if not all shapes were timed: such a time must not be read against the seed's,
/// which is the mean of all shapes.
std::string some_shapes(const Scored& scored, const RunState& state) {
  const auto* seed = entry_of(state, candidate::kSeed);
  const auto* all = seed != nullptr ? seed->scored() : nullptr;
  if (all == nullptr || scored.shapes.size() >= all->shapes.size()) return {};
  std::vector<std::string> names;
  for (const auto& shape : scored.shapes)
    names.push_back(shape.shape);
  return names.empty() ? std::string() : " on " + join(names, ", ");
}

std::string verdict_text(const Entry& entry,
                         const candidate::Outcome& outcome,
                         const RunState& state) {
  const auto* scored = std::get_if<Scored>(&outcome);
  if (scored == nullptr) return candidate::summary(outcome);
  auto text = time_text(*scored);
  if (entry.candidate.number != candidate::kSeed && scored->baseline_seconds > 0) {
    text += fmt::format(" {:.2f}x", scored->baseline_seconds / scored->seconds);
  }
  return text + some_shapes(*scored, state);
}

/// Which events are worth a line, and what it says. Most are stored only for replay.
struct Describe {
  const RunState& state;

  std::vector<Line> operator()(const candidate::RunStarted&) const { return {}; }
  std::vector<Line> operator()(const candidate::Declined&) const { return {}; }
  std::vector<Line> operator()(const candidate::Reserved&) const { return {}; }
  std::vector<Line> operator()(const candidate::Exchanged&) const { return {}; }
  std::vector<Line> operator()(const candidate::SetAside& event) const {
    return {
        {event.candidate ? fmt::format("#{}", *event.candidate) : "proposer",
         fmt::format("{} set aside after {} tries: {}", tick(false), event.tries, event.reason)}};
  }
  std::vector<Line> operator()(const candidate::Compared& event) const {
    return {
        {fmt::format("#{}", event.challenger),
         fmt::format("{} beside #{}: {:.3f}x to {:.3f}x in {} pairs", tick(event.comparison.faster),
                     event.incumbent, event.comparison.speedup.low, event.comparison.speedup.high,
                     event.comparison.samples.size())}};
  }
  std::vector<Line> operator()(const candidate::Planned&) const { return {}; }
  std::vector<Line> operator()(const candidate::Noted& event) const {
    return {{"learnt", join(event.notes, "; ")}};
  }
  std::vector<Line> operator()(const candidate::StepDone& event) const {
    // "tune: round 1"; without a colon it is one of the fast path's.
    const auto colon = event.step.find(": ");
    const bool named = colon != std::string::npos;
    return {{named ? event.step.substr(0, colon) : "fast path",
             fmt::format("{} {}  {}", named ? event.step.substr(colon + 2) : event.step,
                         tick(event.ok), event.detail)}};
  }
  std::vector<Line> operator()(const candidate::Proposed& event) const {
    if (!event.rejected) return {};
    return {{fmt::format("#{}", event.candidate.number),
             fmt::format("{} {}", tick(false), candidate::summary(*event.rejected))}};
  }
  std::vector<Line> operator()(const candidate::Evaluated& event) const {
    const auto* entry = entry_of(state, event.candidate);
    if (entry == nullptr) return {};
    const bool ok = std::holds_alternative<Scored>(event.outcome);
    return {{fmt::format("#{}", event.candidate),
             fmt::format("{} {}  {}{}{}", tick(ok), verdict_text(*entry, event.outcome, state),
                         design_of(*entry),
                         event.same_as ? fmt::format("  same machine code as #{}", *event.same_as)
                                       : std::string(),
                         event.rung.fidelity == candidate::Fidelity::Quick
                             ? std::string()
                             : fmt::format("  ({})", candidate::name(event.rung.fidelity)))}};
  }
  std::vector<Line> operator()(const candidate::BestChanged& event) const {
    const auto* entry = entry_of(state, event.candidate);
    if (entry == nullptr || entry->scored() == nullptr) return {};
    return {
        {"best", fmt::format("#{}  {}  {}", event.candidate,
                             verdict_text(*entry, *entry->scored(), state), design_of(*entry))}};
  }
  std::vector<Line> operator()(const candidate::RunFinished&) const { return {}; }
};

/// The parts of a sentence.
std::vector<std::string> clauses(std::string_view sentence) {
  std::vector<std::string> parts;
  while (!sentence.empty()) {
    const auto end = std::min(sentence.find(", "), sentence.find(": "));
    parts.emplace_back(sentence.substr(0, end));
    sentence.remove_prefix(end == std::string_view::npos ? sentence.size() : end + 2);
  }
  return parts;
}

/// The closest look at which a candidate was correct, and how fast it was there. Times of other
/// fidelities are of other shapes: the closer look counts, and only then the speed.
struct Reached {
  candidate::Fidelity fidelity{};
  double speedup = 0;
  auto operator<=>(const Reached&) const = default;
};

std::optional<Reached> reached(const Entry& entry) {
  std::optional<Reached> closest;
  for (const auto& [rung, outcome] : entry.outcomes) {
    const auto* scored = std::get_if<Scored>(&outcome);
    if (scored == nullptr || scored->seconds <= 0) continue;
    closest = std::max(
        closest, std::optional(Reached{rung.fidelity, scored->baseline_seconds / scored->seconds}));
  }
  return closest;
}

/// What keeps a run from a winner: a fast candidate that a closer look refused, how far the nearest
/// one is, or the step that failed.
std::string what_stood_in_the_way(const RunState& state) {
  const Entry* nearest = nullptr;
  for (const Entry& entry : state.entries) {
    if (entry.candidate.number == candidate::kSeed || !reached(entry)) continue;
    if (nearest == nullptr || reached(entry) > reached(*nearest)) nearest = &entry;
  }
  if (nearest == nullptr) {
    const auto failed = std::ranges::find(state.steps, false, &candidate::StepDone::ok);
    return failed == state.steps.end() ? "" : failed->step + ": " + failed->detail;
  }
  const auto number = nearest->candidate.number;
  const Reached look = *reached(*nearest);
  if (nearest->scored() == nullptr) {
    return fmt::format("#{}, {:.2f}x at {}, was refused on a closer look: {}", number, look.speedup,
                       candidate::name(look.fidelity), candidate::summary(*nearest->latest()));
  }
  return fmt::format("the nearest, #{}, has {:.2f}x of its speed at {}", number, look.speedup,
                     candidate::name(look.fidelity));
}

std::string not_repeatable(const RunState& state) {
  return state.finished && !state.finished->repeatable
             ? "   (a limit of time ended the search: it cannot be repeated exactly)"
             : "";
}

}  // namespace

std::string design_of(const Entry& entry) {
  if (entry.candidate.number == candidate::kSeed) return "the seed";
  if (entry.candidate.source.empty()) return "no program";
  // Programs that leave communication to the host differ in something else, which comes first.
  const std::string& because = entry.candidate.lineage.because;
  const auto colon = because.find(": ");
  design::Directive communication = entry.candidate.directive;
  communication.kernel = {};
  if (communication == design::Directive{}) {
    if (auto kernel = to_text(entry.candidate.directive.kernel); !kernel.empty()) return kernel;
    if (colon < 40) return because.substr(0, colon);
  }
  return design::to_text(entry.candidate.directive);
}

std::string told_apart(const Entry& entry, const RunState& state) {
  const std::string design = design_of(entry);
  std::vector<std::vector<std::string>> others;
  for (const Entry& other : state.entries) {
    if (other.candidate.number != entry.candidate.number && design_of(other) == design)
      others.push_back(clauses(other.candidate.lineage.because));
  }
  std::string text = design;
  for (const std::string& clause : clauses(entry.candidate.lineage.because)) {
    constexpr std::size_t kLongest = 32;
    const bool differs = std::ranges::any_of(
        others, [&](const auto& list) { return std::ranges::find(list, clause) == list.end(); });
    if (differs && clause.size() <= kLongest) text += ", " + clause;
  }
  return text;
}

std::string checked_on(const Scored& scored) {
  auto text = counted(scored.checked_shapes, "shape");
  if (scored.checked_hidden_shapes > 0)
    text += fmt::format(" and {} hidden ones", scored.checked_hidden_shapes);
  if (scored.checked_schedules > 1) text += " × " + counted(scored.checked_schedules, "schedule");
  return text;
}

std::string judged_text(const Entry& entry, const RunState& state) {
  if (entry.latest() == nullptr) return "not judged";
  const Scored* scored = entry.scored();
  if (scored == nullptr) return candidate::summary(*entry.latest());
  // Rungs differ in their shapes, so every time stands beside the seed's on the same ones.
  if (entry.candidate.number != candidate::kSeed) {
    if (scored->baseline_seconds <= 0) return time_text(*scored) + some_shapes(*scored, state);
    return fmt::format("{} against {}: {:.2f}x{}", time_text(*scored),
                       human_seconds(scored->baseline_seconds), speedup(entry),
                       some_shapes(*scored, state));
  }
  const Entry* best = state.best ? entry_of(state, *state.best) : nullptr;
  const Scored* compared = best == nullptr ? nullptr : best->scored();
  if (compared == nullptr || best == &entry || compared->baseline_seconds <= 0)
    return time_text(*scored);
  Scored seed = *scored;
  seed.seconds = compared->baseline_seconds;
  return fmt::format("{} on the shapes of #{}", time_text(seed), *state.best);
}

std::string time_text(const Scored& scored) {
  return human_seconds(scored.seconds) + (scored.predicted ? " predicted" : "");
}

const Entry* winner(const RunState& state) {
  if (!state.best) return nullptr;
  const auto* entry = entry_of(state, *state.best);
  // A lower fidelity has not seen the hidden shapes: it never makes a winner.
  const bool confirmed = entry != nullptr && entry->scored() != nullptr &&
                         entry->outcomes.rbegin()->first.fidelity == candidate::Fidelity::Final;
  return confirmed && speedup(*entry) > candidate::kLeastSpeedup ? entry : nullptr;
}

std::vector<Line> describe(const candidate::Event& event, const RunState& state) {
  return std::visit(Describe{state}, event.body);
}

std::vector<Line> closing(const RunState& state, std::string_view run, std::string_view folder) {
  const auto* best = winner(state);
  if (best == nullptr) {
    const std::string why = what_stood_in_the_way(state);
    return {{"done", "no correct candidate was faster than the seed (by 0.5 % or more)" +
                         (why.empty() ? "" : ": " + why)},
            {"", fmt::format("details  cuco show {}     continue  cuco resume {}", run, run)}};
  }
  const auto& scored = *best->scored();
  auto text = fmt::format("{} against {}: {:.2f}x on {}", time_text(scored),
                          human_seconds(scored.baseline_seconds), speedup(*best), scored.hardware);
  if (scored.bound_seconds > 0) {
    text += fmt::format(", {:.0f} % of the bound", 100 * scored.bound_seconds / scored.seconds);
  }
  const auto number = best->candidate.number;
  std::vector<Line> lines = {
      {"done", text + " · " + "correct on " + checked_on(scored)},
      {"", fmt::format("#{}  {}{}", number, design_of(*best), not_repeatable(state))}};
  // Beside the winner that they are about; what the search itself was worth comes after it.
  lines.push_back(
      {"", fmt::format("winner  {}     why  cuco explain {} {}     continue  cuco resume {}",
                       folder, run, number, run)});
  if (auto forecasts = forecast_text(forecast_record(state)); !forecasts.empty())
    lines.push_back({"forecast", std::move(forecasts)});
  if (auto compared = baselines_text(baselines(state)); !compared.empty())
    lines.push_back({"baselines", std::move(compared)});
  return lines;
}

std::string event_json(const candidate::Event& event) {
  auto body = parse_json(candidate::to_json(event.body));
  Json json{{"sequence", event.sequence},
            {"time_ms", event.time_ms},
            {"event", candidate::kind(event.body)}};
  if (body) {
    // Sources would drown the stream; `cuco show --code` prints them.
    if (body->contains("candidate") && (*body)["candidate"].is_object()) {
      (*body)["candidate"].erase("source");
    }
    json["body"] = *std::move(body);
  }
  return to_text(json);
}

std::string result_json(const RunState& state, std::string_view run, std::string_view folder) {
  Json result{{"run", run},
              {"folder", folder},
              {"speedup", 1.0},
              {"predicted", true},
              {"verdict", "no-improvement"}};
  if (state.started) {
    result["workload"] = state.started->workload;
    result["hardware"] = state.started->hardware;
    result["seed"] = state.started->seed;
  }
  result["directive"] = nullptr;
  result["code_hash"] = nullptr;
  if (const auto* best = winner(state)) {
    const auto& scored = *best->scored();
    result["candidate"] = best->candidate.number;
    result["speedup"] = speedup(*best);
    result["seconds"] = scored.seconds;
    result["baseline_seconds"] = scored.baseline_seconds;
    result["bound_seconds"] = scored.bound_seconds;
    result["predicted"] = scored.predicted;
    result["hardware"] = scored.hardware;
    result["directive"] = design::to_text(best->candidate.directive);
    result["code_hash"] = best->candidate.code_hash;
    result["verdict"] = candidate::verdict(*best->latest());
  }
  result["candidates"] = state.entries.size();
  const ForecastRecord forecasts = forecast_record(state);
  result["forecast"] = {{"made", forecasts.made},
                        {"inside", forecasts.inside},
                        {"error", forecasts.error},
                        {"skipped", forecasts.skipped},
                        {"saved_seconds", forecasts.saved_seconds},
                        {"audited", forecasts.audited},
                        {"wrong", forecasts.wrong}};
  const Baselines compared = baselines(state);
  result["baselines"] = {{"candidates", compared.candidates},
                         {"found_at", compared.found_at},
                         {"drawn_at", compared.drawn_at},
                         {"from_start", compared.from_start},
                         {"best_from_start", compared.best_from_start}};
  result["repeatable"] = !state.finished || state.finished->repeatable;
  return to_text(Json{{"result", result}});
}

}  // namespace cuco::report
