// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <fmt/format.h>

#include "program/diff.h"
#include "report/baselines.h"
#include "report/detail.h"
#include "report/facts.h"
#include "report/known_error.h"
#include "report/page/html.h"
#include "report/page/pictures.h"
#include "report/page/sections.h"
#include "report/progress.h"

namespace cuco::report {
namespace {
using candidate::Entry;
using candidate::RunState;

std::string section(std::string_view title, const std::string& body) {
  return body.empty() ? std::string() : fmt::format("<h2>{}</h2>\n{}", title, body);
}

/// A program with main() has no iterations: all of it is in the picture, and its time leaves out
/// what prepares communication and ends it.
std::string timeline_section(const candidate::Scored& scored, const PageOptions& options) {
  if (!options.timeline) return {};
  const bool is_whole =
      scored.shapes.size() == 1 && scored.shapes.front().shape == "the whole program";
  return fmt::format(
             "<p class=\"soft\">{} of each on the same scale, in predicted time. Where sends run "
             "below a kernel, communication is hidden.{}</p>\n",
             is_whole ? "All device work" : "One iteration",
             is_whole ? " What makes windows ready first and gives them back in the end is "
                        "shown, but not counted in the times above."
                      : "") +
         timeline_picture(*options.timeline);
}

std::string winner_sections(const RunState& state, const Entry& best, const PageOptions& options) {
  const auto& scored = *best.scored();
  const auto number = best.candidate.number;
  std::string body = section(
      "Result", result_picture(scored, best_from_start_seconds(state), options.beside) +
                    simpler_ways(state, options.beside) + shapes_table(scored, known_error(state)));
  body += section("Where the limits are", roofline_picture(scored));
  body += section("Before and after, rank by rank", timeline_section(scored, options));
  body += section("How it came about", lineage_table(state, number));
  body += section(fmt::format("Why #{}", number), fmt::format("<pre tabindex=\"0\">{}</pre>\n",
                                                              escaped(explanation(state, number))));
  return body;
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
  const Entry* best = winner(state);
  if (best != nullptr) body += winner_sections(state, *best, options);
  if (state.entries.size() > 1) body += section("The search", history_picture(state));
  body += section("What was checked", evidence(state, best));
  body += section("Predicted against measured", measured_table(state));
  body += section("Candidates", candidates_table(state));
  if (best != nullptr) {
    body += section("What the winner changes in the seed",
                    diff_listing(program::unified_diff(state.entries.front().candidate.source,
                                                       best->candidate.source)));
  }
  if (!state.steps.empty()) body += section("Fast path", steps_table(state));
  body += section("What was asked", asked_table(state));
  body += section("What it took", effort_text(state));
  body +=
      "<footer>Made by cuco. Predicted times come from a model of the hardware; "
      "rejected candidates are shown with the reason.</footer>\n";
  return framed(fmt::format("{} · run {}", workload_name(state), options.run), body, options.live);
}

std::string index_page(const std::vector<ListedRun>& runs) {
  std::string body = "<h1>Runs</h1>\n";
  if (runs.empty()) {
    return framed("cuco runs",
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
                        : fmt::format("{:.2f}x{}", *speedup_of(*best),
                                      best->scored()->predicted ? " predicted" : ""));
  }
  return framed("cuco runs", body + "</table></div>\n");
}

std::string problem_page(const std::string& problem) {
  return framed("cuco", fmt::format("<h1>Not found</h1>\n<p class=\"lead\">{}</p>\n<p><a "
                                    "href=\"/\">all runs</a></p>\n",
                                    escaped(problem)));
}

}  // namespace cuco::report
