// SPDX-License-Identifier: Apache-2.0
#include "cli/journey/judge_report.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "report/known_error.h"

namespace cuco::cli {
namespace {

using candidate::Scored;
using candidate::ShapeTime;

/// "1/16; 1/32: +2 %".
std::string model_text(const ShapeTime& time) {
  const candidate::ScaleModel& model = time.scale_model;
  if (!model.is_used()) return "not scored";
  if (model.factor <= 1) return "as it is";
  std::string text = fmt::format("1/{:.3g}", model.factor);
  if (model.smaller_factor > 0) {
    text += fmt::format("; 1/{:.3g}: {:+.0f} %", model.smaller_factor,
                        100 * model.difference(time.seconds));
  }
  return text;
}

/// "9.7 (4.8 waves); 9.7 (4.8)".
std::string filling_text(const ShapeTime& time) {
  const candidate::ScaleModel& model = time.scale_model;
  if (model.filling.blocks_per_sm == 0) return "";
  std::string text =
      fmt::format("{:.3g} ({:.2g} waves)", model.filling.blocks_per_sm, model.filling.waves);
  if (model.smaller_factor > 0) {
    text += fmt::format("; {:.3g} ({:.2g})", model.smaller_filling.blocks_per_sm,
                        model.smaller_filling.waves);
  }
  return text;
}

std::string time_table(const Scored& scored) {
  using Align = Table::Align;
  const bool has_models = std::ranges::any_of(
      scored.shapes, [](const ShapeTime& time) { return time.scale_model.factor > 1; });
  std::vector<Align> columns(7, Align::Right);
  columns.front() = columns.back() = Align::Left;
  std::vector<std::string> head{"shape", "time", "seed", "gain", "bound", "of it", "bound by"};
  if (has_models) {
    columns.insert(columns.end(), 2, Align::Left);
    head.insert(head.end(), {"scale model", "blocks per SM"});
  }
  Table table(columns);
  table.row(head);
  for (const ShapeTime& time : scored.shapes) {
    std::vector<std::string> row{time.shape,
                                 human_seconds(time.seconds),
                                 human_seconds(time.baseline_seconds),
                                 fmt::format("{:.2f}x", time.baseline_seconds / time.seconds),
                                 human_seconds(time.bound_seconds),
                                 fmt::format("{:.0f} %", 100 * time.bound_seconds / time.seconds),
                                 time.limited_by};
    if (has_models) row.insert(row.end(), {model_text(time), filling_text(time)});
    table.row(row);
  }
  return table.text(2);
}

/// Of one shape: where the time goes, and the lines where the warps spend theirs.
std::string profile_text(const ShapeTime& time) {
  std::string text = fmt::format("  where the time goes, {}, slowest rank\n", time.shape);
  double all = 0;
  for (const candidate::PhaseTime& phase : time.phases)
    all += phase.seconds;
  for (const candidate::PhaseTime& phase : time.phases) {
    text += fmt::format("    {:>9} {:>4.0f} %  {}\n", human_seconds(phase.seconds),
                        100 * phase.seconds / all, phase.phase);
  }
  if (time.hot_spots.empty()) return text;
  text += "  hottest lines, by share of all warps' time\n";
  for (const candidate::HotSpot& spot : time.hot_spots) {
    text += fmt::format("    {:>3.0f} %  {}:{}  {}\n", 100 * spot.share, spot.where.file,
                        spot.where.line, spot.what);
  }
  return text;
}

std::string scored_text(const Terminal& terminal,
                        const judge::ProgramJudge& judge,
                        const Scored& scored) {
  const candidate::Target target = judge.target();
  std::string text = fmt::format("{} {}\n", terminal.tick(), judge.basis(scored));
  const bool has_bound = scored.bound_seconds > 0;
  if (has_bound) text += time_table(scored);
  // The largest of the timed shapes says most; all are in --json.
  const ShapeTime* longest = nullptr;
  for (const ShapeTime& time : scored.shapes) {
    if (!time.phases.empty() && (longest == nullptr || time.seconds > longest->seconds))
      longest = &time;
  }
  if (longest != nullptr) text += profile_text(*longest);
  text += fmt::format("  {} {} on {} ({}): {:.2f} x the seed{}\n",
                      scored.predicted ? "predicted" : "measured", human_seconds(scored.seconds),
                      scored.predicted ? target.hardware : scored.hardware, target.topology,
                      scored.baseline_seconds / scored.seconds,
                      has_bound ? fmt::format(", score {:.3f}", scored.score)
                                : fmt::format(" ({})", human_seconds(scored.baseline_seconds)));
  if (const std::string error = report::known_error(scored, target.facts.ranks); !error.empty())
    text += fmt::format("  error of predicted times: {}\n", error);
  for (const judge::MeasuredShape& measured : judge.measured())
    text += fmt::format("  {}\n", describe(measured));
  return text;
}

}  // namespace

std::string verdict_text(const Terminal& terminal,
                         const judge::ProgramJudge& judge,
                         const candidate::Outcome& outcome) {
  const std::string note = judge.note().empty() ? "" : fmt::format("  {}\n", judge.note());
  if (const auto* scored = std::get_if<Scored>(&outcome))
    return scored_text(terminal, judge, *scored) + note;
  const std::string summary = candidate::summary(outcome);
  std::string text = fmt::format("{} {}\n", terminal.cross(), summary);
  const std::string explanation = candidate::explanation(outcome);
  if (explanation == summary) return text + note;
  for (const std::string_view line : split(explanation, '\n')) {
    // The first line of many explanations is the summary again.
    if (!line.empty() && line != summary) text += fmt::format("  {}\n", line);
  }
  return text + note;
}

}  // namespace cuco::cli
