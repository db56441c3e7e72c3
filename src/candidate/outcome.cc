// SPDX-License-Identifier: Apache-2.0
#include "candidate/outcome.h"

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::candidate {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

/// A compiler's warnings may come before its errors.
std::string first_error(const std::string& text) {
  for (const auto line : split(text, '\n')) {
    for (const std::string_view mark : {": error", ": Error", "fatal error", "fatal   :"}) {
      if (line.find(mark) != std::string_view::npos) return std::string(line);
    }
  }
  return first_line(text);
}

std::string on_shape(const std::string& shape) {
  return shape.empty() ? std::string() : fmt::format(" (shape {})", shape);
}

std::string at(const Site& site) {
  const auto text = to_text(site);
  return text.empty() ? text : " at " + text;
}

std::string finding_text(const Finding& finding) {
  const auto where = to_text(finding.where);
  auto text =
      fmt::format("{}{}{}: {}", where, where.empty() ? "" : ": ", finding.kind, finding.message);
  if (finding.other) text += fmt::format("\n    the other side: {}", to_text(*finding.other));
  if (!finding.hint.empty()) text += fmt::format("\n    {}", finding.hint);
  return text;
}

std::string wrong_text(const WrongResult& wrong) {
  auto text = fmt::format("wrong result: {}[{}] on rank {} is {:.6g}, expected {:.6g}",
                          wrong.output, wrong.index, wrong.rank, wrong.actual, wrong.expected);
  if (!wrong.note.empty()) text += ", " + wrong.note;
  return text + on_shape(wrong.shape);
}

std::string time_text(double seconds, bool predicted, const std::string& hardware) {
  const auto text = human_seconds(seconds);
  return predicted ? fmt::format("{} predicted ({})", text, hardware)
                   : fmt::format("{} on {}", text, hardware);
}

struct Verdict {
  std::string_view operator()(const ProposalRejected&) const { return "proposal-rejected"; }
  std::string_view operator()(const ScreenRejected&) const { return "screen-rejected"; }
  std::string_view operator()(const BuildFailed&) const { return "build-failed"; }
  std::string_view operator()(const Crashed&) const { return "crashed"; }
  std::string_view operator()(const TimedOut&) const { return "timed-out"; }
  std::string_view operator()(const Deadlock&) const { return "deadlock"; }
  std::string_view operator()(const WrongResult&) const { return "wrong-result"; }
  std::string_view operator()(const Findings&) const { return "findings"; }
  std::string_view operator()(const Quarantined&) const { return "quarantined"; }
  std::string_view operator()(const Scored&) const { return "scored"; }
};

struct Summary {
  std::string operator()(const ProposalRejected& o) const { return "no candidate: " + o.reason; }
  std::string operator()(const ScreenRejected& o) const {
    return fmt::format("screened out: {}{}", o.reason, at(o.where));
  }
  std::string operator()(const BuildFailed& o) const {
    return "does not compile: " + first_error(o.message);
  }
  std::string operator()(const Crashed& o) const {
    return fmt::format("crashed: {}{}{}", first_line(o.reason), at(o.where), on_shape(o.shape));
  }
  std::string operator()(const TimedOut& o) const {
    return fmt::format("timed out: {} took more than {}", o.stage, human_seconds(o.limit_seconds));
  }
  std::string operator()(const Deadlock& o) const {
    return fmt::format("deadlock: {}{}", o.waits.empty() ? "everything waits" : o.waits.front(),
                       on_shape(o.shape));
  }
  std::string operator()(const WrongResult& o) const { return wrong_text(o); }
  std::string operator()(const Findings& o) const {
    if (o.findings.empty()) return "findings: none named";
    const auto& first = o.findings.front();
    std::vector<std::string> places;
    for (const Site& site : {first.where, first.other.value_or(Site{})}) {
      if (auto place = to_text(site); !place.empty()) places.push_back(std::move(place));
    }
    // Without a place the message has to do.
    auto text = fmt::format("{} ({})", first.kind,
                            places.empty() ? first_line(first.message) : join(places, " against "));
    if (o.findings.size() > 1) text += fmt::format(" and {} more", o.findings.size() - 1);
    return text;
  }
  std::string operator()(const Quarantined& o) const {
    return fmt::format("quarantined: {} is below the bound of {}{}", human_seconds(o.seconds),
                       human_seconds(o.bound_seconds), on_shape(o.shape));
  }
  std::string operator()(const Scored& o) const {
    auto text = time_text(o.seconds, o.predicted, o.hardware);
    if (o.baseline_seconds > 0) text += fmt::format(", {:.2f}x", o.baseline_seconds / o.seconds);
    return text;
  }
};

std::string phase_list(const std::vector<PhaseTime>& phases) {
  std::vector<std::string> parts;
  for (const auto& phase : phases)
    parts.push_back(fmt::format("{} {}", phase.phase, human_seconds(phase.seconds)));
  return join(parts, ", ");
}

std::string shape_lines(const Scored& scored) {
  std::string text;
  for (const auto& shape : scored.shapes) {
    text += fmt::format("\n  {}: {}", shape.shape, human_seconds(shape.seconds));
    if (shape.baseline_seconds > 0) {
      text += fmt::format(", seed {}", human_seconds(shape.baseline_seconds));
    }
    if (shape.bound_seconds > 0) {
      text += fmt::format(", bound {}", human_seconds(shape.bound_seconds));
      if (!shape.limited_by.empty()) text += fmt::format(" ({})", shape.limited_by);
    }
    if (!shape.limits.empty())
      text += fmt::format("\n    each alone at least: {}", phase_list(shape.limits));
    if (!shape.phases.empty())
      text += fmt::format("\n    where the slowest rank's time goes: {}", phase_list(shape.phases));
    for (const auto& spot : shape.hot_spots) {
      text += fmt::format("\n    {:.0f} % of the warps' time at {}: {}", 100 * spot.share,
                          to_text(spot.where), spot.what);
    }
  }
  return text;
}

struct Explanation {
  std::string operator()(const ProposalRejected& o) const {
    return o.detail.empty() ? o.reason : fmt::format("{}\n{}", o.reason, o.detail);
  }
  std::string operator()(const BuildFailed& o) const { return "does not compile:\n" + o.message; }
  std::string operator()(const Crashed& o) const {
    return fmt::format("crashed{}{}:\n{}", at(o.where), on_shape(o.shape), o.reason);
  }
  std::string operator()(const Deadlock& o) const {
    return fmt::format("deadlock{}: every thread waits and nothing is pending\n{}",
                       on_shape(o.shape), join(o.waits, "\n"));
  }
  std::string operator()(const WrongResult& o) const {
    auto text = wrong_text(o);
    text +=
        fmt::format("\n{} of {} elements are wrong in iteration {}", o.wrong, o.total, o.iteration);
    if (!o.schedule.empty()) text += ", where " + o.schedule;
    for (const auto& finding : o.findings)
      text += "\n" + finding_text(finding);
    return text;
  }
  std::string operator()(const Findings& o) const {
    std::string text;
    for (const auto& finding : o.findings) {
      text += (text.empty() ? "" : "\n") + finding_text(finding);
    }
    return o.schedule.empty() ? text : text + "\nfirst seen where " + o.schedule;
  }
  std::string operator()(const Scored& o) const {
    auto text = Summary{}(o);
    if (o.bound_seconds > 0) {
      text += fmt::format(", {:.0f} % of the bound", 100 * o.bound_seconds / o.seconds);
    }
    return text + shape_lines(o);
  }
  template <typename Other>
  std::string operator()(const Other& o) const {
    return Summary{}(o);
  }
};

}  // namespace

std::string to_text(const Site& site) {
  std::string text = site.file;
  if (site.line >= 0) text += fmt::format(":{}", site.line);
  std::vector<std::string> who;
  if (!site.kernel.empty()) who.push_back(fmt::format("kernel {}", site.kernel));
  if (site.rank >= 0) who.push_back(fmt::format("rank {}", site.rank));
  if (!site.block.empty()) who.push_back(fmt::format("block {}", site.block));
  if (!site.thread.empty()) who.push_back(fmt::format("thread {}", site.thread));
  if (who.empty()) return text;
  return text.empty() ? join(who, ", ") : fmt::format("{} ({})", text, join(who, ", "));
}

std::string_view verdict(const Outcome& outcome) {
  return std::visit(Verdict{}, outcome);
}
std::string summary(const Outcome& outcome) {
  return std::visit(Summary{}, outcome);
}
std::string explanation(const Outcome& outcome) {
  return std::visit(Explanation{}, outcome);
}

}  // namespace cuco::candidate
