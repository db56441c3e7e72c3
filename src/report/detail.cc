// SPDX-License-Identifier: Apache-2.0
#include "report/detail.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/text.h"
#include "report/progress.h"

namespace cuco::report {
namespace {
using candidate::Entry;
using candidate::RunState;
using candidate::Scored;

std::string short_verdict(const Entry& entry) {
  const auto* outcome = entry.latest();
  if (outcome == nullptr) return "not judged";
  const auto* scored = std::get_if<Scored>(outcome);
  return scored == nullptr ? std::string(candidate::verdict(*outcome)) : time_text(*scored);
}

std::string ratio(const Entry& entry) {
  const auto* scored = entry.scored();
  if (scored == nullptr || entry.candidate.number == candidate::kSeed || scored->seconds <= 0) {
    return "";
  }
  return fmt::format("{:.2f}x", scored->baseline_seconds / scored->seconds);
}

std::string lineage_line(const Entry& entry) {
  const auto& lineage = entry.candidate.lineage;
  std::vector<std::string> parts;
  if (lineage.parent) parts.push_back(fmt::format("parent #{}", *lineage.parent));
  if (!lineage.proposer.empty()) parts.push_back("by " + lineage.proposer);
  if (!lineage.phase.empty()) parts.push_back(lineage.phase);
  return join(parts, ", ");
}

/// Null if the shape has no such phase: it took next to nothing.
const candidate::PhaseTime* phase_of(const candidate::ShapeTime& shape, std::string_view name) {
  const auto found = std::ranges::find(shape.phases, name, &candidate::PhaseTime::phase);
  return found == shape.phases.end() ? nullptr : &*found;
}

/// "at barriers 3.1 us → 2.0 us": a shape's phases beside the seed's of the same shape, where they
/// differ. What the seed alone spends time on comes first: that is what was gained.
std::string phases_of(const candidate::ShapeTime& shape, const Scored* seed) {
  const candidate::ShapeTime* before = nullptr;
  if (seed != nullptr) {
    const auto found = std::ranges::find(seed->shapes, shape.shape, &candidate::ShapeTime::shape);
    if (found != seed->shapes.end() && !found->phases.empty()) before = &*found;
  }
  if (shape.phases.empty()) return {};
  std::vector<std::string> parts;
  if (before != nullptr) {
    for (const auto& phase : before->phases) {
      if (phase_of(shape, phase.phase) == nullptr)
        parts.push_back(fmt::format("{} {} → none", phase.phase, human_seconds(phase.seconds)));
    }
  }
  for (const auto& phase : shape.phases) {
    auto text = human_seconds(phase.seconds);
    if (before != nullptr) {
      const auto* old = phase_of(*before, phase.phase);
      const auto seconds = old == nullptr ? "none" : human_seconds(old->seconds);
      if (seconds != text) text.insert(0, seconds + " → ");
    }
    parts.push_back(phase.phase + " " + text);
  }
  return join(parts, "; ");
}

/// What changed against the seed, shape by shape and phase by phase; of a rejected one, why.
std::string gained(const RunState& state, const Entry& entry) {
  const auto* scored = entry.scored();
  if (scored == nullptr) return candidate::explanation(*entry.latest());
  auto text = fmt::format("{} on {}, {} the seed's speed", time_text(*scored), scored->hardware,
                          ratio(entry));
  const Scored* seed = state.entries.front().scored();
  for (const auto& shape : scored->shapes) {
    if (shape.baseline_seconds > 0) {
      text += fmt::format("\n         {}: {} → {}", shape.shape,
                          human_seconds(shape.baseline_seconds), human_seconds(shape.seconds));
    } else {
      text += fmt::format("\n         {}: {}", shape.shape, human_seconds(shape.seconds));
    }
    if (const auto phases = phases_of(shape, seed); !phases.empty())
      text += "\n           " + phases;
  }
  return text;
}

/// How it came to be asked for.
std::string chosen(const Entry& entry) {
  const auto& lineage = entry.candidate.lineage;
  std::vector<std::string> parts;
  if (!lineage.operation.empty()) parts.push_back(lineage.operation);
  if (!lineage.island.empty()) parts.push_back("island " + lineage.island);
  if (lineage.plan) parts.push_back(fmt::format("plan {}", *lineage.plan));
  std::vector<std::string> shown;
  for (const candidate::Number number : lineage.inspirations)
    shown.push_back(fmt::format("#{}", number));
  if (!shown.empty()) parts.push_back("shown " + join(shown, ", "));
  return join(parts, ", ");
}

std::string expected(const Entry& entry) {
  const auto& forecast = entry.candidate.lineage.forecast;
  if (!forecast) return {};
  return fmt::format("{:.2f}x ({:.2f}x to {:.2f}x), correct with {:.0f} %, before it was built",
                     forecast->speedup, forecast->low, forecast->high, 100 * forecast->works);
}

/// Its place among those that were judged at the same rung, and whether it went on.
std::string raced(const RunState& state, const Entry& entry) {
  if (entry.candidate.number == candidate::kSeed) return {};
  std::vector<std::string> parts;
  for (const auto& [rung, outcome] : entry.outcomes) {
    const auto* scored = std::get_if<Scored>(&outcome);
    if (scored == nullptr || scored->seconds <= 0) continue;
    const double mine = scored->baseline_seconds / scored->seconds;
    int rank = 1;
    int peers = 0;
    for (const Entry& other : state.entries) {
      const auto found = other.outcomes.find(rung);
      const auto* time =
          found == other.outcomes.end() ? nullptr : std::get_if<Scored>(&found->second);
      if (time == nullptr || time->seconds <= 0 || other.candidate.number == candidate::kSeed)
        continue;
      ++peers;
      if (time->baseline_seconds / time->seconds > mine) ++rank;
    }
    parts.push_back(fmt::format("{}: {:.2f}x, {} of {}", to_text(rung), mine, rank, peers));
  }
  if (parts.empty()) return {};
  const bool won = state.best == entry.candidate.number;
  const bool ended = entry.outcomes.rbegin()->first.fidelity == candidate::Fidelity::Final;
  return join(parts, "\n         ") + (won     ? "; the best of the run"
                                       : ended ? "; not the best"
                                               : "; not promoted further");
}

/// Verdicts that nobody had to give: "same machine code as #7: its verdict is used
/// (virtual/quick)".
std::string twin_of(const Entry& entry) {
  std::map<candidate::Number, std::vector<std::string>> rungs;
  for (const auto& [rung, number] : entry.same_as)
    rungs[number].push_back(to_text(rung));
  std::vector<std::string> parts;
  for (const auto& [number, names] : rungs) {
    parts.push_back(fmt::format("same machine code as #{}: its verdict is used ({})", number,
                                join(names, ", ")));
  }
  return join(parts, "\n         ");
}

/// Others with the same backend and placement: the same idea with other knobs.
std::string siblings(const RunState& state, const Entry& entry) {
  std::vector<std::string> parts;
  for (const auto& other : state.entries) {
    const bool same = other.candidate.directive.backend == entry.candidate.directive.backend &&
                      other.candidate.directive.placement == entry.candidate.directive.placement;
    if (!same || other.candidate.number == entry.candidate.number ||
        other.candidate.number == candidate::kSeed || other.candidate.source.empty()) {
      continue;
    }
    parts.push_back(fmt::format("#{} {}: {}", other.candidate.number, told_apart(other, state),
                                short_verdict(other)));
  }
  return join(parts, "\n         ");
}

}  // namespace

std::string explanation(const RunState& state, candidate::Number number) {
  const auto& entry = state.entries[static_cast<std::size_t>(number)];
  const bool is_program = !entry.candidate.source.empty();
  auto text = fmt::format("#{}  {}", number,
                          is_program ? design_of(entry) : candidate::summary(*entry.latest()));
  if (const auto lineage = lineage_line(entry); !lineage.empty()) text += "     " + lineage;
  text += '\n';
  const auto line = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) text += fmt::format("{:<8} {}\n", label, value);
  };
  line("because", entry.candidate.lineage.because);
  line("chosen", chosen(entry));
  line("expected", expected(entry));
  if (entry.latest() == nullptr) {
    line("verdict", "not judged yet");
    return text;
  }
  const auto* scored = entry.scored();
  line(scored == nullptr ? "rejected" : "gained", gained(state, entry));
  line("judged", twin_of(entry));
  line("raced", raced(state, entry));
  line("tried", siblings(state, entry));
  if (scored != nullptr) {
    auto checked = checked_on(*scored);
    if (scored->bound_seconds > 0) {
      checked += fmt::format("; bound {}", human_seconds(scored->bound_seconds));
    }
    line("checked", checked);
  } else if (!entry.exchanges.empty()) {
    line("answer", entry.exchanges.front().answer.substr(0, 400));
  }
  return text;
}

}  // namespace cuco::report
