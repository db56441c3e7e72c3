// SPDX-License-Identifier: Apache-2.0
#include "report/page/pictures.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "report/facts.h"
#include "report/page/html.h"
#include "report/progress.h"

namespace cuco::report {
namespace {
using candidate::Entry;
using candidate::RunState;
using candidate::Scored;

constexpr double kWidth = 1000;

/// Narrow screens scroll a picture: shrunk, nobody could read it.
constexpr std::string_view kClosed = "</svg></div>\n";

std::string opened(double height, std::string_view label) {
  return fmt::format(
      "<div class=\"scroll\" tabindex=\"0\"><svg viewBox=\"0 0 {} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">\n",
      kWidth, height, escaped(label));
}

struct Bar {
  std::string label;
  double seconds = 0;
  const char* colour = "--bar";
};

/// A table, so that labels and times stay readable however narrow the page is.
std::string bars(const std::vector<Bar>& list, std::string_view label) {
  double longest = 0;
  for (const Bar& bar : list)
    longest = std::max(longest, bar.seconds);
  std::string text = fmt::format("<table class=\"bars\" aria-label=\"{}\">\n", escaped(label));
  for (const Bar& bar : list) {
    text += fmt::format(
        "<tr><th scope=\"row\">{}</th><td><svg viewBox=\"0 0 100 18\" "
        "preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect width=\"{:.1f}\" height=\"18\" "
        "fill=\"var({})\"/></svg></td><td class=\"n\">{}</td></tr>\n",
        escaped(bar.label), longest > 0 ? std::max(0.4, 100 * bar.seconds / longest) : 0,
        bar.colour, human_seconds(bar.seconds));
  }
  return text + "</table>\n";
}

/// Of a linear axis with about `wanted` marks: 1, 2 or 5 times a power of ten.
double step_of(double length, int wanted) {
  if (!(length > 0)) return 1;
  const double raw = length / wanted;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= raw) return factor * power;
  }
  return 10 * power;
}

}  // namespace

std::string result_picture(const Scored& winner,
                           double best_from_seed,
                           const std::vector<Beside>& beside) {
  std::vector<Bar> list{{"seed", winner.baseline_seconds, "--seed"}};
  if (best_from_seed > 0) list.push_back({"best made from the seed", best_from_seed, "--soft"});
  for (const Beside& one : beside) {
    if (const auto* scored = std::get_if<Scored>(&one.outcome))
      list.push_back({one.name, scored->seconds, "--soft"});
  }
  list.push_back({"winner", winner.seconds, "--good"});
  if (winner.bound_seconds > 0) list.push_back({"speed of light", winner.bound_seconds, "--bar"});
  return bars(list, "times of seed, winner and simpler ways, and the bound");
}

std::string roofline_picture(const Scored& winner) {
  std::string text;
  for (const auto& shape : winner.shapes) {
    if (shape.limits.empty()) continue;
    std::vector<Bar> list;
    if (shape.baseline_seconds > 0) list.push_back({"seed", shape.baseline_seconds, "--seed"});
    list.push_back({"winner", shape.seconds, "--good"});
    for (const auto& limit : shape.limits)
      list.push_back({fmt::format("{} alone", limit.phase), limit.seconds, "--bar"});
    text += fmt::format(
        "<h3>{}{}</h3>\n", escaped(shape.shape),
        shape.limited_by.empty()
            ? ""
            : fmt::format(" <span class=\"soft\">limited by {}</span>", escaped(shape.limited_by)));
    text += bars(list, "what each resource takes alone, beside winner and seed: " + shape.shape);
  }
  return text;
}

std::string history_picture(const RunState& state) {
  constexpr double kHeight = 260, kLeft = 46, kBottom = 30;
  double top = 1.1;
  for (const Entry& entry : state.entries)
    top = std::max(top, speedup_of(entry).value_or(0) * 1.08);
  const double count = std::max<double>(1, static_cast<double>(state.entries.size()) - 1);
  const auto x = [&](double number) { return kLeft + 14 + (kWidth - kLeft - 34) * number / count; };
  const auto y = [&](double value) { return 8 + (kHeight - kBottom - 8) * (1 - value / top); };
  std::string text = opened(kHeight, "speed-up of each candidate");
  const double step = step_of(top, 5);
  for (int i = 0; i * step <= top; ++i) {
    text += fmt::format(
        "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"var(--line)\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g}x</text>\n",
        kLeft, kWidth, y(i * step), kLeft - 8, y(i * step) + 4, i * step);
  }
  text += fmt::format(
      "<line x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"var(--seed)\" "
      "stroke-dasharray=\"4 4\"/>\n",
      kLeft, kWidth, y(1));
  const double mark = std::max(1.0, step_of(count, 12));
  for (int i = 0; i * mark <= count; ++i) {
    text += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">#{:g}</text>\n",
                        x(i * mark), kHeight - 6, i * mark);
  }
  // Dots of a thousand candidates would be one blot.
  const double radius = state.entries.size() > 200 ? 2 : 5;
  double best = 0;
  // Once somebody was timed on full shapes, small ones lift nobody.
  const bool full = std::ranges::any_of(state.entries, is_on_full_shapes);
  std::string line;
  std::string dots;
  for (const Entry& entry : state.entries) {
    const int number = entry.candidate.number;
    const auto value = speedup_of(entry);
    if (value && *value > best && (!full || is_on_full_shapes(entry))) {
      // The best-so-far line is a staircase: flat until a candidate beats it.
      if (!line.empty()) line += fmt::format(" H {:.1f}", x(number));
      line += fmt::format("{} {:.1f} {:.1f}", line.empty() ? "M" : " L", x(number), y(*value));
      best = *value;
    }
    const bool is_best = state.best == number;
    const auto title = fmt::format("<title>#{} {}{}</title>", number, escaped(design_of(entry)),
                                   value                    ? fmt::format(" {:.2f}x", *value)
                                   : entry.outcomes.empty() ? ", not judged"
                                                            : ", rejected");
    dots += value ? fmt::format(
                        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"var({})\">"
                        "{}</circle>\n",
                        x(number), y(*value), is_best ? radius + 2 : radius,
                        is_best ? "--good" : "--soft", title)
                  : fmt::format(
                        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\" "
                        "class=\"cross\">✕{}</text>\n",
                        x(number), y(0) - 3, title);
  }
  if (!line.empty()) {
    line += fmt::format(" H {:.1f}", kWidth - 20);
    text += fmt::format(
        "<path d=\"{}\" fill=\"none\" stroke=\"var(--accent)\" stroke-width=\"2\"/>\n", line);
  }
  return text.append(dots).append(kClosed);
}

std::string timeline_picture(const Timeline& timeline) {
  constexpr double kLeft = 86, kLane = 10, kGap = 8, kTitle = 26, kAxis = 24;
  double length = 0;
  double height = kAxis + 4;
  for (const ProgramTimeline& program : timeline.programs) {
    length = std::max(length, program.length());
    height += kTitle;
    for (const RankTimeline& rank : program.ranks)
      height += kLane * static_cast<double>(rank.lanes.size()) + kGap;
  }
  if (!(length > 0)) return {};
  const auto x = [&](double at) { return kLeft + (kWidth - kLeft - 10) * at / length; };
  std::string text = opened(height, "what each rank did when, seed and winner");
  const double step = step_of(length, 8);
  for (int i = 0; i * step <= length; ++i) {
    text += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2:.0f}\" stroke=\"var(--line)\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.0f}\" text-anchor=\"middle\">{4}</text>\n",
        x(i * step), 8, height - kAxis + 4, height - 6,
        i == 0 ? "0" : human_seconds(i * step * 1e-6));
  }
  double y = 0;
  for (const ProgramTimeline& program : timeline.programs) {
    y += kTitle;
    text += fmt::format("<text x=\"{}\" y=\"{:.0f}\" class=\"ink\">{}: {}</text>\n", kLeft, y - 9,
                        program.program == "candidate" ? fmt::format("#{}", timeline.candidate)
                                                       : escaped(program.program),
                        human_seconds(program.length() * 1e-6));
    for (const RankTimeline& rank : program.ranks) {
      const double lanes = kLane * static_cast<double>(rank.lanes.size());
      text += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">rank {}</text>\n",
                          kLeft - 12, y + lanes / 2 + 4, rank.rank);
      for (const Lane& lane : rank.lanes) {
        for (const Stretch& stretch : lane.stretches) {
          text += fmt::format(
              "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{}\" class=\"at-{}\">"
              "<title>{}: {}, {} to {}</title></rect>\n",
              x(stretch.begin), y, std::max(0.6, x(stretch.end) - x(stretch.begin)), kLane - 2,
              name(lane.activity), name(lane.activity), escaped(stretch.what),
              human_seconds(stretch.begin * 1e-6), human_seconds(stretch.end * 1e-6));
        }
        y += kLane;
      }
      y += kGap;
    }
  }
  text.append(kClosed).append("<p class=\"legend\">");
  for (int i = 0; i < kActivities; ++i) {
    const auto activity = static_cast<Activity>(i);
    text += fmt::format("<span><i class=\"at-{0}\"></i>{0}</span>", name(activity));
  }
  return text + "</p>\n";
}

}  // namespace cuco::report
