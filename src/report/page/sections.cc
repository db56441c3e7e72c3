// SPDX-License-Identifier: Apache-2.0
#include "report/page/sections.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "base/text.h"
#include "report/baselines.h"
#include "report/facts.h"
#include "report/page/html.h"
#include "report/progress.h"

namespace cuco::report {
namespace {
using candidate::Entry;
using candidate::RunState;
using candidate::Scored;

constexpr std::size_t kMostRows = 300;

std::string tile(std::string_view value, std::string_view label, bool best = false) {
  return fmt::format("<div class=\"tile{}\"><b>{}</b><span>{}</span></div>\n", best ? " best" : "",
                     escaped(value), escaped(label));
}

std::string_view tick(bool ok) {
  return ok ? "<span class=\"good\">✓</span>" : "<span class=\"bad\">✗</span>";
}

std::string factor(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}x", *value) : "–";
}

std::string time_or_dash(double seconds) {
  return seconds > 0 ? human_seconds(seconds) : "–";
}

std::string list_of(const std::vector<std::string>& lines) {
  std::string text = "<ul>\n";
  for (const std::string& line : lines)
    text += fmt::format("<li>{}</li>\n", escaped(line));
  return text + "</ul>\n";
}

/// "@@ -12,7 +15,9 @@": the first lines before and after.
void read_hunk(std::string_view line, int* before, int* after) {
  const auto read = [&](char sign, int* number) {
    const auto at = line.find(sign);
    if (at == std::string_view::npos) return;
    std::from_chars(line.data() + at + 1, line.data() + line.size(), *number);
  };
  read('-', before);
  read('+', after);
}

std::string candidate_row(const RunState& state, const Entry& entry) {
  const bool seed = entry.candidate.number == candidate::kSeed;
  const auto* outcome = entry.latest();
  const auto verdict =
      outcome == nullptr ? std::string("not judged")
      : entry.scored() != nullptr
          ? fmt::format("{}&nbsp;correct<br><span class=\"soft\">{}</span>", tick(true),
                        candidate::name(entry.outcomes.rbegin()->first.fidelity))
          : fmt::format("{} {}", tick(false), escaped(candidate::summary(*outcome)));
  return fmt::format(
      "<tr{}><td class=\"n\">#{}</td><td>{}<br><span class=\"soft\">{}</span></td><td>{}</td>"
      "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
      state.best == entry.candidate.number && entry.scored() != nullptr ? " class=\"best\"" : "",
      entry.candidate.number, escaped(design_of(entry)), escaped(entry.candidate.lineage.because),
      verdict, entry.scored() != nullptr ? time_text(*entry.scored()) : "–",
      seed ? "–" : factor(speedup_of(entry)));
}

}  // namespace

std::string tiles(const RunState& state) {
  const Entry* best = winner(state);
  std::string text = "<div class=\"tiles\">\n";
  if (best != nullptr) {
    const Scored& scored = *best->scored();
    const char* word = scored.predicted ? ", predicted" : ", measured";
    text += tile(factor(speedup_of(*best)), fmt::format("speed-up{} · {}", word, scored.hardware),
                 true);
    text += tile(human_seconds(scored.seconds),
                 fmt::format("winner #{}{}", best->candidate.number, word));
    text += tile(human_seconds(scored.baseline_seconds), fmt::format("seed{}", word));
    if (scored.bound_seconds > 0) {
      text += tile(human_seconds(scored.bound_seconds),
                   fmt::format("speed of light · {:.0f} % reached",
                               100 * scored.bound_seconds / scored.seconds));
    }
  } else {
    text += tile("–", state.finished ? "no correct candidate was faster than the seed"
                                     : "no correct candidate faster than the seed so far");
  }
  text += tile(std::to_string(effort_of(state).judged), "candidates judged");
  return text + "</div>\n";
}

std::string asked_table(const RunState& state) {
  std::string text = "<table class=\"facts\">\n";
  for (const auto& [label, value] : asked(state))
    text += fmt::format("<tr><th>{}</th><td>{}</td></tr>\n", escaped(label), escaped(value));
  return text + "</table>\n";
}

std::string lineage_table(const RunState& state, candidate::Number number) {
  std::string text =
      "<div class=\"scroll\" tabindex=\"0\"><table><tr><th "
      "class=\"n\">#</th><th>design</th><th>changed</th>"
      "<th class=\"n\">over its parent</th><th class=\"n\">over the seed</th></tr>\n";
  for (const LineageStep& step : lineage_of(state, number)) {
    const bool seed = step.number == candidate::kSeed;
    text += fmt::format(
        "<tr><td class=\"n\">#{}</td><td>{}<br><span class=\"soft\">{}</span></td><td>{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        step.number, escaped(step.design), escaped(step.because), escaped(step.changed),
        factor(step.gain), seed ? "1.00x" : factor(step.speedup));
  }
  return text + "</table></div>\n";
}

/// Each shape's bar is the winner's share of the seed's time: shapes differ too much for one scale.
std::string shapes_table(const Scored& scored, const std::string& error) {
  std::string text =
      "<div class=\"scroll\" tabindex=\"0\"><table><tr><th>shape</th><th "
      "class=\"n\">winner</th><td class=\"soft\">of the seed's time</td>"
      "<th class=\"n\">seed</th><th class=\"n\">bound</th><th class=\"n\">speed-up</th></tr>\n";
  for (const auto& shape : scored.shapes) {
    const bool known = shape.seconds > 0 && shape.baseline_seconds > 0;
    const bool is_interval = shape.speedup.high > shape.speedup.low;
    text += fmt::format(
        "<tr><td>{}{}</td><td class=\"n\">{}</td><td class=\"wide\"><svg viewBox=\"0 0 100 9\" "
        "preserveAspectRatio=\"none\" class=\"bar\" aria-hidden=\"true\"><rect width=\"100\" "
        "height=\"9\" fill=\"var(--line)\"/><rect width=\"{:.1f}\" "
        "height=\"9\" fill=\"var(--good)\"/></svg></td><td class=\"n\">{}</td><td "
        "class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        escaped(shape.shape),
        shape.scale_model.is_used()
            ? fmt::format("<br><span class=\"soft\">{}</span>", escaped(scale_text(shape)))
            : "",
        time_or_dash(shape.seconds),
        known ? std::min(100.0, 100 * shape.seconds / shape.baseline_seconds) : 0,
        time_or_dash(shape.baseline_seconds), time_or_dash(shape.bound_seconds),
        is_interval ? fmt::format("{:.3f}x to {:.3f}x", shape.speedup.low, shape.speedup.high)
        : known     ? fmt::format("{:.2f}x", shape.baseline_seconds / shape.seconds)
                    : "–");
  }
  return text + fmt::format("</table></div><p class=\"soft\">All times are {}, {}{}. {}</p>\n",
                            scored.predicted ? "predicted by the virtual cluster" : "measured",
                            escaped(scored.hardware),
                            error.empty() ? "" : "; their error: " + escaped(error), kMeanOf);
}

std::string simpler_ways(const RunState& state, const std::vector<Beside>& beside) {
  const std::string drawn = baselines_text(baselines(state));
  std::string text;
  if (!drawn.empty())
    text = fmt::format("<p>Against simpler ways on the same budget: {}.</p>\n", escaped(drawn));
  for (const Beside& one : beside)
    text += fmt::format("<p>Judged beside it: {}.</p>\n", escaped(beside_text(state, one)));
  return text;
}

std::string evidence(const RunState& state, const Entry* winner) {
  std::string text;
  if (winner != nullptr) {
    text +=
        "<div class=\"scroll\" tabindex=\"0\"><table><tr><th>verdict of the winner at</th>"
        "<th class=\"n\">shapes</th><th class=\"n\">hidden shapes</th>"
        "<th class=\"n\">schedules</th></tr>\n";
    for (const auto& [rung, outcome] : winner->outcomes) {
      const auto* scored = std::get_if<Scored>(&outcome);
      if (scored == nullptr) continue;
      text += fmt::format(
          "<tr><td>{} {}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
          "<td class=\"n\">{}</td></tr>\n",
          tick(true), escaped(candidate::to_text(rung)), scored->checked_shapes,
          scored->checked_hidden_shapes, scored->checked_schedules);
    }
    text += "</table></div>\n";
    text += fmt::format("<p class=\"soft\">{}</p>\n", escaped(drawn_text(state)));
    const Scored& scored = *winner->scored();
    if (!scored.left_out.empty())
      text += "<p class=\"soft\">Not tried, or less often:</p>" + list_of(scored.left_out);
    if (!scored.warnings.empty())
      text += "<p class=\"soft\">Why a time may be off:</p>" + list_of(scored.warnings);
  }
  const auto kinds = rejected(state);
  if (kinds.empty()) return text + "<p class=\"soft\">No candidate was rejected.</p>\n";
  text +=
      "<div class=\"scroll\" tabindex=\"0\"><table><tr><th>rejected as</th><th "
      "class=\"n\">candidates</th>"
      "<th>for example</th></tr>\n";
  for (const Rejected& kind : kinds) {
    text +=
        fmt::format("<tr><td>{} {}</td><td class=\"n\">{}</td><td>#{} {}</td></tr>\n", tick(false),
                    escaped(kind.verdict), kind.count, kind.example, escaped(kind.text));
  }
  return text + "</table></div>\n";
}

std::string measured_table(const RunState& state) {
  const auto pairs = predicted_and_measured(state);
  if (pairs.empty()) return {};
  std::string text =
      "<div class=\"scroll\" tabindex=\"0\"><table><tr><th class=\"n\">#</th><th "
      "class=\"n\">predicted</th>"
      "<th class=\"n\">measured</th><th class=\"n\">predicted speed-up</th>"
      "<th class=\"n\">measured speed-up</th></tr>\n";
  const auto ratio = [](const Scored& scored) {
    return scored.seconds > 0 ? scored.baseline_seconds / scored.seconds : 0;
  };
  for (const auto& pair : pairs) {
    text += fmt::format(
        "<tr><td class=\"n\">#{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>"
        "<td class=\"n\">{:.2f}x</td><td class=\"n\">{:.2f}x</td></tr>\n",
        pair.number, human_seconds(pair.predicted.seconds), human_seconds(pair.measured.seconds),
        ratio(pair.predicted), ratio(pair.measured));
  }
  return text + "</table></div>\n";
}

std::string effort_text(const RunState& state) {
  const Effort effort = effort_of(state);
  std::string text =
      fmt::format("<p>{} candidates judged in {}; the judge worked {}.", effort.judged,
                  human_seconds(effort.wall_seconds), human_seconds(effort.judge_seconds));
  if (effort.calls == 0) return text + " No model was asked.</p>\n";
  return text + fmt::format(" Models answered {} calls with {} tokens{}.</p>\n", effort.calls,
                            effort.tokens,
                            effort.unpriced > 0
                                ? fmt::format(", ${:.4f} and {} calls of unknown price",
                                              effort.dollars, effort.unpriced)
                                : fmt::format(", ${:.4f}", effort.dollars));
}

std::string candidates_table(const RunState& state) {
  std::vector<const Entry*> shown;
  for (const Entry& entry : state.entries)
    shown.push_back(&entry);
  std::string note =
      "A quick verdict times only the smallest shape; compare candidates by the last column, which "
      "compares equal shapes.";
  if (shown.size() > kMostRows) {
    std::ranges::stable_sort(shown, [](const Entry* a, const Entry* b) {
      return speedup_of(*a).value_or(0) > speedup_of(*b).value_or(0);
    });
    note = fmt::format("The fastest {} of {}. ", kMostRows, shown.size()) + note;
    shown.resize(kMostRows);
  }
  std::string text =
      "<div class=\"scroll\" tabindex=\"0\"><table><tr><th "
      "class=\"n\">#</th><th>design</th><th>verdict</th>"
      "<th class=\"n\">time</th><th class=\"n\">against the seed</th></tr>\n";
  for (const Entry* entry : shown)
    text += candidate_row(state, *entry);
  return text + fmt::format("</table></div><p class=\"soft\">{}</p>\n", note);
}

std::string diff_listing(std::string_view unified) {
  std::string text = "<div class=\"scroll tall\" tabindex=\"0\"><table class=\"diff\">\n";
  int before = 0;
  int after = 0;
  for (const std::string_view line : split(unified, '\n')) {
    const auto row = [&](const char* kind, std::string_view left, std::string_view right) {
      text += fmt::format(
          "<tr class=\"{}\"><td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n", kind,
          left, right, escaped(line));
    };
    // File headers ("+++", "---") start like changed lines but are not.
    if (line.starts_with("+++") || line.starts_with("---")) {
      row("file", "", "");
    } else if (line.starts_with("@@")) {
      read_hunk(line, &before, &after);
      row("hunk", "", "");
    } else if (line.starts_with("+")) {
      row("add", "", std::to_string(after++));
    } else if (line.starts_with("-")) {
      row("del", std::to_string(before++), "");
    } else if (!line.empty()) {
      row("", std::to_string(before++), std::to_string(after++));
    }
  }
  return text + "</table></div>\n";
}

std::string steps_table(const RunState& state) {
  std::string text = "<table>\n";
  for (const auto& step : state.steps) {
    text += fmt::format("<tr><td>{} {}</td><td class=\"soft\">{}</td></tr>\n", tick(step.ok),
                        escaped(step.step), escaped(step.detail));
  }
  return text + "</table>\n";
}

}  // namespace cuco::report
