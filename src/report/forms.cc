// SPDX-License-Identifier: Apache-2.0
#include "report/forms.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "program/diff.h"
#include "report/baselines.h"
#include "report/facts.h"
#include "report/known_error.h"
#include "report/progress.h"

namespace cuco::report {
namespace {
using candidate::Entry;
using candidate::RunState;
using candidate::Scored;

/// A cell of a table: one line, without what would end it.
std::string cell(std::string_view text) {
  std::string made;
  for (const char letter : text) {
    if (letter == '|') made += '\\';
    // Markdown passes tags through: a candidate's text is no place for them.
    if (letter == '<') {
      made += "&lt;";
    } else {
      made += letter == '\n' || letter == '\r' ? ' ' : letter;
    }
  }
  return made;
}

std::string factor(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f}x", *value) : "–";
}

std::string winner_text(const RunState& state,
                        const Entry& best,
                        const std::vector<Beside>& beside) {
  const Scored& scored = *best.scored();
  std::string text = fmt::format("**{}** against {} for the seed: **{}** on {}", time_text(scored),
                                 human_seconds(scored.baseline_seconds), factor(speedup_of(best)),
                                 cell(scored.hardware));
  if (scored.bound_seconds > 0) {
    text += fmt::format(", {:.0f} % of the speed of light ({})",
                        100 * scored.bound_seconds / scored.seconds,
                        human_seconds(scored.bound_seconds));
  }
  text += fmt::format(
      ".\n\nWinner #{}: {}\n\n| shape | winner | seed | bound |\n| --- | ---: | "
      "---: | ---: |\n",
      best.candidate.number, cell(design_of(best)));
  const auto time = [](double seconds) { return seconds > 0 ? human_seconds(seconds) : "–"; };
  for (const auto& shape : scored.shapes) {
    const std::string scale = scale_text(shape);
    text += fmt::format("| {}{} | {} | {} | {} |\n", cell(shape.shape),
                        scale.empty() ? "" : " (" + cell(scale) + ")", time(shape.seconds),
                        time(shape.baseline_seconds), time(shape.bound_seconds));
  }
  text += fmt::format("\n{}\n", kMeanOf);
  if (const std::string error = known_error(state); !error.empty())
    text += fmt::format("\nError of predicted times: {}.\n", error);
  if (const auto simpler = baselines_text(baselines(state)); !simpler.empty())
    text += fmt::format("\nAgainst simpler ways on the same budget: {}.\n", cell(simpler));
  for (const Beside& one : beside)
    text += fmt::format("\nJudged beside it: {}.\n", cell(beside_text(state, one)));
  text +=
      "\n## How it came about\n\n| | design | changed | over its parent | over the seed |\n"
      "| ---: | --- | --- | ---: | ---: |\n";
  for (const LineageStep& step : lineage_of(state, best.candidate.number)) {
    text += fmt::format("| #{} | {} | {} | {} | {} |\n", step.number, cell(step.design),
                        cell(step.changed), factor(step.gain), factor(step.speedup));
  }
  return text;
}

/// A fence that no line of the text can close.
std::string fenced(std::string_view text) {
  std::string fence = "```";
  while (text.find(fence) != std::string_view::npos)
    fence += '`';
  return fmt::format("{}diff\n{}{}\n", fence, text, fence);
}

Json json_of(const Entry& entry) {
  Json object{{"candidate", entry.candidate.number},
              {"design", design_of(entry)},
              {"proposer", entry.candidate.lineage.proposer},
              {"because", entry.candidate.lineage.because},
              {"code_hash", entry.candidate.code_hash}};
  if (entry.candidate.lineage.parent) object["parent"] = *entry.candidate.lineage.parent;
  if (const auto* outcome = entry.latest()) {
    object["verdict"] = candidate::verdict(*outcome);
    object["rung"] = candidate::to_text(entry.outcomes.rbegin()->first);
    object["summary"] = candidate::summary(*outcome);
  }
  if (const auto speedup = speedup_of(entry)) object["speedup"] = *speedup;
  if (const Scored* scored = entry.scored()) {
    object["seconds"] = scored->seconds;
    object["predicted"] = scored->predicted;
  }
  return object;
}

Json evidence_json(const Entry& best) {
  Json list = Json::array();
  for (const auto& [rung, outcome] : best.outcomes) {
    const auto* scored = std::get_if<Scored>(&outcome);
    if (scored == nullptr) continue;
    list.push_back({{"rung", candidate::to_text(rung)},
                    {"shapes", scored->checked_shapes},
                    {"hidden_shapes", scored->checked_hidden_shapes},
                    {"schedules", scored->checked_schedules},
                    {"left_out", scored->left_out},
                    {"warnings", scored->warnings}});
  }
  return list;
}

}  // namespace

std::string run_markdown(const RunState& state,
                         std::string_view run,
                         const std::vector<Beside>& beside) {
  std::string text = fmt::format("# {}, run {}\n\n", cell(workload_name(state)), run);
  const Entry* best = winner(state);
  text += best == nullptr ? "No correct candidate was faster than the seed.\n"
                          : winner_text(state, *best, beside);
  text += "\n## What was checked\n\n";
  if (best != nullptr) {
    const Scored& scored = *best->scored();
    text +=
        fmt::format("The winner is correct on {} shapes and {} hidden ones, in {} schedules.\n",
                    scored.checked_shapes, scored.checked_hidden_shapes, scored.checked_schedules);
    text += drawn_text(state) + "\n";
    for (const std::string& line : scored.left_out)
      text += fmt::format("- left out: {}\n", cell(line));
    for (const std::string& line : scored.warnings)
      text += fmt::format("- {}\n", cell(line));
    text += "\n";
  }
  if (const auto kinds = rejected(state); !kinds.empty()) {
    text += "| rejected as | candidates | for example |\n| --- | ---: | --- |\n";
    for (const Rejected& kind : kinds) {
      text += fmt::format("| {} | {} | #{} {} |\n", cell(kind.verdict), kind.count, kind.example,
                          cell(kind.text));
    }
  }
  text += "\n## What was asked\n\n| | |\n| --- | --- |\n";
  for (const auto& [label, value] : asked(state))
    text += fmt::format("| {} | {} |\n", cell(label), cell(value));
  const Effort effort = effort_of(state);
  text +=
      fmt::format("\n{} candidates judged in {}; {} calls of models, {} tokens.\n", effort.judged,
                  human_seconds(effort.wall_seconds), effort.calls, effort.tokens);
  if (best != nullptr) {
    text += "\n## What the winner changes in the seed\n\n" +
            fenced(program::unified_diff(state.entries.front().candidate.source,
                                         best->candidate.source));
  }
  return text;
}

std::string run_json(const RunState& state,
                     std::string_view run,
                     const std::vector<Beside>& beside) {
  Json object{
      {"candidates", Json::array()}, {"rejected", Json::array()}, {"asked", Json::object()}};
  if (auto result = parse_json(result_json(state, run, ""))) {
    (*result)["result"].erase("folder");
    object["result"] = (*result)["result"];
  }
  for (const auto& [label, value] : asked(state))
    object["asked"][label] = value;
  for (const Entry& entry : state.entries)
    object["candidates"].push_back(json_of(entry));
  object["beside"] = Json::array();
  for (const Beside& one : beside) {
    Json judged{{"name", one.name}, {"verdict", candidate::verdict(one.outcome)}};
    if (const auto* scored = std::get_if<Scored>(&one.outcome)) {
      judged["seconds"] = scored->seconds;
      judged["baseline_seconds"] = scored->baseline_seconds;
      judged["predicted"] = scored->predicted;
    }
    object["beside"].push_back(std::move(judged));
  }
  for (const Rejected& kind : rejected(state)) {
    object["rejected"].push_back({{"verdict", kind.verdict},
                                  {"count", kind.count},
                                  {"example", kind.example},
                                  {"summary", kind.text}});
  }
  const Effort effort = effort_of(state);
  object["effort"] = {{"judged", effort.judged},
                      {"judge_seconds", effort.judge_seconds},
                      {"wall_seconds", effort.wall_seconds},
                      {"calls", effort.calls},
                      {"tokens", effort.tokens},
                      {"dollars", effort.dollars},
                      {"unpriced_calls", effort.unpriced}};
  object["error_of_predicted_times"] = known_error(state);
  if (const Entry* best = winner(state)) {
    object["lineage"] = Json::array();
    for (const LineageStep& step : lineage_of(state, best->candidate.number)) {
      Json one{{"candidate", step.number}, {"design", step.design}, {"changed", step.changed}};
      if (step.gain) one["gain"] = *step.gain;
      if (step.speedup) one["speedup"] = *step.speedup;
      object["lineage"].push_back(std::move(one));
    }
    object["evidence"] = evidence_json(*best);
    object["evidence_from"] = drawn_text(state);
  }
  return to_text(object) + "\n";
}

}  // namespace cuco::report
