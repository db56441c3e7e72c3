// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "program/diff.h"
#include "report/detail.h"
#include "report/progress.h"

namespace cuco::report {

std::optional<std::string_view> resource(std::string_view name);

namespace {
using candidate::Entry;
using candidate::RunState;
using candidate::Scored;

/// Everything that came from a program, a model or a person goes through here.
std::string escaped(std::string_view text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

/// A self-contained page without scripts, so that a report can be mailed; a live one reloads
/// itself.
std::string page(std::string_view title, std::string_view body, bool live = false) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{}"
      "<title>{}</title>\n<style>\n{}</style></head>\n<body><main>\n{}</main></body></html>\n",
      live ? "<meta http-equiv=\"refresh\" content=\"3\">\n" : "", escaped(title),
      *resource("style.css"), body);
}

/// The last folder of the path that the run was given, with or without a trailing slash.
std::string workload_name(const RunState& state) {
  if (!state.started) return "?";
  std::filesystem::path path(state.started->workload);
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

/// Against the seed on the same shapes. Times themselves are not comparable between candidates:
/// fidelities time different shapes.
std::optional<double> speedup(const Entry& entry) {
  const Scored* scored = entry.scored();
  if (scored == nullptr || scored->seconds <= 0 || scored->baseline_seconds <= 0) {
    return std::nullopt;
  }
  return scored->baseline_seconds / scored->seconds;
}

std::string tile(std::string_view value, std::string_view label, bool best = false) {
  return fmt::format("<div class=\"tile{}\"><b>{}</b><span>{}</span></div>\n", best ? " best" : "",
                     escaped(value), escaped(label));
}

std::string tiles(const RunState& state) {
  const Entry* best = winner(state);
  const auto judged = std::count_if(state.entries.begin(), state.entries.end(),
                                    [](const Entry& entry) { return !entry.outcomes.empty(); });
  std::string text = "<div class=\"tiles\">\n";
  if (best != nullptr) {
    const Scored& scored = *best->scored();
    const char* word = scored.predicted ? ", predicted" : ", measured";
    text += tile(fmt::format("{:.2f}x", *speedup(*best)),
                 fmt::format("speed-up{} · {}", word, scored.hardware), true);
    text += tile(human_seconds(scored.seconds),
                 fmt::format("winner #{}{}", best->candidate.number, word));
    text += tile(human_seconds(scored.baseline_seconds), fmt::format("seed{}", word));
    if (scored.bound_seconds > 0) {
      text += tile(human_seconds(scored.bound_seconds),
                   fmt::format("speed of light · {:.0f} % reached",
                               100 * scored.bound_seconds / scored.seconds));
    }
  } else {
    text += tile("–", "no correct candidate faster than the seed so far");
  }
  text += tile(std::to_string(judged), "candidates judged");
  return text + "</div>\n";
}

/// One dot per candidate, the best so far as a line; the seed is at 1.
std::string chart(const RunState& state) {
  constexpr double kWidth = 1000;
  constexpr double kHeight = 250;
  constexpr double kLeft = 46;
  constexpr double kBottom = 26;
  double top = 1.1;
  for (const Entry& entry : state.entries)
    top = std::max(top, speedup(entry).value_or(0) * 1.08);
  const double count = std::max<double>(1, static_cast<double>(state.entries.size()) - 1);
  // Rejected candidates have no speed-up; they are crosses on the axis.
  const auto x = [&](int number) { return kLeft + 14 + (kWidth - kLeft - 34) * number / count; };
  const auto y = [&](double value) { return 8 + (kHeight - kBottom - 8) * (1 - value / top); };
  std::string text = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"speed-up of "
      "each candidate\">\n",
      kWidth, kHeight);
  const double step = top > 4 ? 1 : top > 2 ? 0.5 : 0.25;
  for (double value = 0; value <= top; value += step) {
    text += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"var({4})\"{5}/>"
        "<text x=\"{6}\" y=\"{3:.1f}\" text-anchor=\"end\">{7:g}x</text>\n",
        kLeft, kWidth, y(value), y(value) + 4, value == 1 ? "--seed" : "--line",
        value == 1 ? " stroke-dasharray=\"4 4\"" : "", kLeft - 8, value);
  }
  double best = 0;
  std::string line;
  std::string dots;
  for (const Entry& entry : state.entries) {
    const int number = entry.candidate.number;
    const auto value = speedup(entry);
    if (value && *value > best) {
      // The best-so-far line is a staircase: flat until a candidate beats it.
      if (!line.empty()) line += fmt::format(" H {:.1f}", x(number));
      line += fmt::format("{} {:.1f} {:.1f}", line.empty() ? "M" : " L", x(number), y(*value));
      best = *value;
    }
    dots += value ? fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"var({})\">",
                                x(number), y(*value), state.best == number ? 7 : 5,
                                state.best == number ? "--good" : "--soft")
                  : fmt::format(
                        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" "
                        "style=\"fill:var(--bad)\">✕",
                        x(number), y(0) - 3);
    dots += fmt::format(
        "<title>#{} {}{}</title>{}\n", number, escaped(design::to_text(entry.candidate.directive)),
        value ? fmt::format(" {:.2f}x", *value) : ", rejected", value ? "</circle>" : "</text>");
    dots += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">#{}</text>\n",
                        x(number), kHeight - 6, number);
  }
  if (!line.empty()) {
    line += fmt::format(" H {:.1f}", kWidth - 20);
    text += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"var(--accent)\" stroke-width=\"2\"/>\n", line);
  }
  return text + dots + "</svg>\n";
}

std::string candidates_table(const RunState& state) {
  std::string text =
      "<div class=\"scroll\"><table><tr><th class=\"n\"></th><th>design</th><th>verdict</th>"
      "<th class=\"n\">time</th><th class=\"n\">against the seed</th></tr>\n";
  for (const Entry& entry : state.entries) {
    const bool seed = entry.candidate.number == candidate::kSeed;
    const auto value = speedup(entry);
    const auto* outcome = entry.latest();
    const auto verdict =
        outcome == nullptr ? std::string("not judged")
        : entry.scored() != nullptr
            ? fmt::format(
                  "<span class=\"good\">✓</span>&nbsp;correct<br>"
                  "<span class=\"soft\">{}</span>",
                  candidate::name(entry.outcomes.rbegin()->first.fidelity))
            : fmt::format("<span class=\"bad\">✗</span> {}", escaped(candidate::summary(*outcome)));
    text += fmt::format(
        "<tr{}><td class=\"n\">#{}</td><td>{}<br><span class=\"soft\">{}</span></td><td>{}</td>"
        "<td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
        state.best == entry.candidate.number ? " class=\"best\"" : "", entry.candidate.number,
        seed ? "the seed" : escaped(design::to_text(entry.candidate.directive)),
        escaped(entry.candidate.lineage.because), verdict,
        entry.scored() != nullptr ? time_text(*entry.scored()) : "–",
        value && !seed ? fmt::format("{:.2f}x", *value) : "–");
  }
  return text +
         "</table></div><p class=\"soft\">A quick verdict times only the smallest shape; compare "
         "candidates by the last column, which compares equal shapes.</p>\n";
}

/// Bars share one scale, the longest time of any shape, so that shapes can be compared by eye.
std::string shapes_table(const Scored& scored) {
  double longest = 0;
  for (const auto& shape : scored.shapes)
    longest = std::max({longest, shape.seconds, shape.baseline_seconds});
  std::string text =
      "<div class=\"scroll\"><table><tr><th>shape</th><th class=\"n\">winner</th><th></th>"
      "<th class=\"n\">seed</th><th class=\"n\">bound</th></tr>\n";
  const auto time = [](double seconds) { return seconds > 0 ? human_seconds(seconds) : "–"; };
  for (const auto& shape : scored.shapes) {
    text += fmt::format(
        "<tr class=\"best\"><td>{}</td><td class=\"n\">{}</td><td style=\"width:34%\"><span "
        "class=\"bar\" style=\"width:{:.0f}%\"></span></td><td class=\"n\">{}</td>"
        "<td class=\"n\">{}</td></tr>\n",
        escaped(shape.shape), time(shape.seconds), 100 * shape.seconds / std::max(longest, 1e-12),
        time(shape.baseline_seconds), time(shape.bound_seconds));
  }
  return text + fmt::format(
                    "</table></div><p class=\"soft\">Correct on {} shapes, {} hidden ones, {} "
                    "schedules. All times are {}, {}.</p>\n",
                    scored.checked_shapes, scored.checked_hidden_shapes, scored.checked_schedules,
                    scored.predicted ? "predicted by the virtual cluster" : "measured",
                    escaped(scored.hardware));
}

std::string diff_text(const RunState& state, const Entry& best) {
  std::string text = "<pre>";
  const std::string diff =
      program::unified_diff(state.entries.front().candidate.source, best.candidate.source);
  for (const std::string_view line : split(diff, '\n')) {
    // File headers ("+++", "---") start like changed lines but are not.
    const char* kind = line.starts_with("@@")                              ? "hunk"
                       : line.starts_with("+") && !line.starts_with("+++") ? "add"
                       : line.starts_with("-") && !line.starts_with("---") ? "del"
                                                                           : "";
    text += *kind != 0 ? fmt::format("<span class=\"{}\">{}</span>\n", kind, escaped(line))
                       : escaped(line) + "\n";
  }
  return text + "</pre>\n";
}

std::string steps(const RunState& state) {
  std::string text = "<table>\n";
  for (const auto& step : state.steps) {
    text += fmt::format("<tr><td>{} {}</td><td class=\"soft\">{}</td></tr>\n",
                        step.ok ? "<span class=\"good\">✓</span>" : "<span class=\"bad\">✗</span>",
                        escaped(step.step), escaped(step.detail));
  }
  return text + "</table>\n";
}

}  // namespace

std::string run_page(const RunState& state, const PageOptions& options) {
  std::string body = fmt::format("<h1>{}</h1>\n", escaped(workload_name(state)));
  if (state.started) {
    body +=
        fmt::format("<p class=\"lead\">run {} · {} · {} · seed {} · {}</p>\n", escaped(options.run),
                    escaped(state.started->target), escaped(state.started->hardware),
                    state.started->seed, escaped(options.state));
  }
  body += tiles(state);
  if (state.entries.size() > 1) body += "<h2>The search</h2>\n" + chart(state);
  body += "<h2>Candidates</h2>\n" + candidates_table(state);
  if (const Entry* best = winner(state)) {
    body += "<h2>The winner, shape by shape</h2>\n" + shapes_table(*best->scored());
    body += fmt::format("<h2>Why #{}</h2>\n<pre>{}</pre>\n", best->candidate.number,
                        escaped(explanation(state, best->candidate.number)));
    body += "<h2>What it changes in the seed</h2>\n" + diff_text(state, *best);
  }
  if (!state.steps.empty()) body += "<h2>Fast path</h2>\n" + steps(state);
  body +=
      "<footer>Made by cuco. Predicted times come from a model of the hardware; "
      "rejected candidates are shown with the reason.</footer>\n";
  return page(fmt::format("{} · run {}", workload_name(state), options.run), body, options.live);
}

std::string index_page(const std::vector<ListedRun>& runs) {
  std::string body = "<h1>Runs</h1>\n";
  if (runs.empty()) {
    return page("cuco runs",
                body +
                    "<p class=\"lead\">None yet: <code>cuco optimize "
                    "workloads/gemm_allgather</code> starts one, <code>cuco demo</code> "
                    "plays back a recorded one.</p>\n");
  }
  body +=
      "<p class=\"lead\">Newest first.</p><div class=\"scroll\"><table><tr><th>run</th>"
      "<th>workload</th><th>started</th><th>state</th><th>best</th>"
      "<th class=\"n\">speed-up</th></tr>\n";
  for (const ListedRun& listed : runs) {
    const Entry* best = winner(listed.run);
    body += fmt::format(
        "<tr><td><a href=\"/runs/{0}\">{0}</a></td><td>{1}</td><td>{2}</td><td>{3}</td><td>{4}</td>"
        "<td class=\"n\">{5}</td></tr>\n",
        escaped(listed.name), escaped(workload_name(listed.run)), escaped(listed.when),
        escaped(listed.state),
        best == nullptr ? "–" : escaped(design::to_text(best->candidate.directive)),
        best == nullptr ? "–"
                        : fmt::format("{:.2f}x{}", *speedup(*best),
                                      best->scored()->predicted ? " predicted" : ""));
  }
  return page("cuco runs", body + "</table></div>\n");
}

std::string problem_page(const std::string& problem) {
  return page("cuco", fmt::format("<h1>Not found</h1>\n<p class=\"lead\">{}</p>\n<p><a "
                                  "href=\"/\">all runs</a></p>\n",
                                  escaped(problem)));
}

}  // namespace cuco::report
