// SPDX-License-Identifier: Apache-2.0
#include "agents/task_text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "candidate/outcome.h"
#include "program/diff.h"
#include "program/regions.h"

namespace cuco::agents {
namespace {
using candidate::Judged;
using candidate::Scored;

constexpr std::size_t kMostVerdict = 8000;
constexpr std::size_t kMostDiff = 8000;

const Scored* time_of(const Judged& judged) {
  return judged.outcome ? std::get_if<Scored>(&*judged.outcome) : nullptr;
}

std::string cut(std::string text, std::size_t most) {
  if (text.size() <= most) return text;
  text.resize(text.rfind('\n', most) == std::string::npos ? most : text.rfind('\n', most));
  return text + "\n… (cut)";
}

/// Numbers of lines as verdicts name them: "program.cu:120", "program.cu(120)".
std::set<int> named_lines(std::string_view verdict) {
  std::set<int> lines;
  for (std::size_t at = 1; at + 1 < verdict.size(); ++at) {
    if ((verdict[at] != ':' && verdict[at] != '(') || std::isalpha(verdict[at - 1]) == 0) continue;
    int line = 0;
    const auto [end, error] =
        std::from_chars(verdict.data() + at + 1, verdict.data() + verdict.size(), line);
    if (error == std::errc() && line > 0) lines.insert(line);
  }
  return lines;
}

/// At most so many bytes of a unified diff: what is near the lines that the verdict names, then the
/// rest from its begin on.
std::string cut_diff(const std::string& diff, const std::string& verdict, std::size_t most) {
  constexpr int kNear = 25;
  if (diff.size() <= most) return diff;
  const std::set<int> named = named_lines(verdict);
  const auto lines = split(diff, '\n');
  std::vector<char> kept(lines.size(), 0);
  std::size_t taken = 0;
  const auto take = [&](std::size_t i) {
    if (kept[i] != 0 || taken + lines[i].size() + 1 > most) return;
    kept[i] = 1;
    taken += lines[i].size() + 1;
  };
  int number = 0;  // of the line in the new text
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    if (const auto plus = line.find(" +"); line.starts_with("@@") && plus != line.npos) {
      std::from_chars(line.data() + plus + 2, line.data() + line.size(), number);
      take(i);
      continue;
    }
    const auto next = named.lower_bound(number - kNear);
    if (next != named.end() && *next <= number + kNear) take(i);
    if (!line.starts_with('-')) ++number;
  }
  for (std::size_t i = 0; i < lines.size() && taken + lines[i].size() < most; ++i)
    take(i);
  std::string text;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (kept[i] != 0) text += std::string(lines[i]) + '\n';
    if (kept[i] == 0 && (i == 0 || kept[i - 1] != 0)) text += "… (cut)\n";
  }
  return text;
}

std::string design_of(const candidate::Candidate& candidate) {
  if (candidate.number == candidate::kSeed) return "the seed";
  if (candidate.source.empty()) return "no program";
  return candidate.directive == design::Directive{} ? "host" : design::to_text(candidate.directive);
}

/// Threads of one block that wait for the same thing differ in their numbers alone.
std::string kind_of(std::string_view line) {
  std::string kind;
  for (const char c : line) {
    if (c < '0' || c > '9') kind += c;
  }
  return kind;
}

std::string without_repeats(const std::string& text) {
  std::string result;
  std::set<std::string> seen;
  int left_out = 0;
  for (const auto line : split(text, '\n')) {
    if (!seen.insert(kind_of(line)).second) {
      ++left_out;
      continue;
    }
    result += std::string(line) + '\n';
  }
  if (left_out > 0) result += fmt::format("({} more lines like these)\n", left_out);
  return std::string(trim(result));
}

std::string verdict_text(const Judged& judged) {
  if (!judged.outcome) return "not judged";
  const auto text = candidate::explanation(*judged.outcome);
  const bool waits = std::holds_alternative<candidate::Deadlock>(*judged.outcome);
  return cut(waits ? without_repeats(text) : text, kMostVerdict);
}

const Judged* parent_of(const Judged& judged, const candidate::History& history) {
  const auto parent = judged.candidate.lineage.parent;
  if (!parent || static_cast<std::size_t>(*parent) >= history.size()) return nullptr;
  const Judged& found = history[*parent];
  // What was rejected unread has no text: its own answer went on from the seed's.
  return found.candidate.source.empty() ? &history.seed() : &found;
}

std::string diff_of(const Judged& judged, const candidate::History& history) {
  const Judged* parent = parent_of(judged, history);
  if (parent == nullptr || judged.candidate.source.empty()) return {};
  return program::unified_diff(parent->candidate.source, judged.candidate.source);
}

/// "+34 -12 lines"
std::string size_of_change(const std::string& diff) {
  int added = 0;
  int removed = 0;
  for (const auto line : split(diff, '\n')) {
    added += line.starts_with('+') && !line.starts_with("+++") ? 1 : 0;
    removed += line.starts_with('-') && !line.starts_with("---") ? 1 : 0;
  }
  return fmt::format("+{} -{} lines", added, removed);
}

std::string times_text(const Scored& scored) {
  std::vector<std::string> parts;
  for (const auto& shape : scored.shapes) {
    parts.push_back(
        fmt::format("{} {}{}", shape.shape, human_seconds(shape.seconds),
                    shape.baseline_seconds > 0
                        ? fmt::format(" ({:.2f}x)", shape.baseline_seconds / shape.seconds)
                        : ""));
  }
  return join(parts, ", ");
}

/// Everything but the number: candidates that say the same are one.
std::string told(const Judged& judged, const candidate::History& history) {
  const auto& candidate = judged.candidate;
  std::string text =
      fmt::format("{}: {}\n", design_of(candidate),
                  judged.outcome ? candidate::summary(*judged.outcome) : std::string("not judged"));
  if (candidate.number == candidate::kSeed) return text;
  if (!candidate.lineage.because.empty())
    text += fmt::format("    why: {}\n", candidate.lineage.because);
  if (!candidate.source.empty() && candidate.lineage.parent) {
    text += fmt::format("    change: {} against #{}\n", size_of_change(diff_of(judged, history)),
                        *candidate.lineage.parent);
  }
  if (const Scored* scored = time_of(judged); scored != nullptr && !scored->shapes.empty())
    text += fmt::format("    times: {}\n", times_text(*scored));
  return text;
}

/// The lines that the profile names, as they are written.
std::string hot_lines(const Judged& judged) {
  const Scored* scored = time_of(judged);
  if (scored == nullptr || judged.candidate.source.empty()) return {};
  std::string text;
  std::set<int> seen;
  for (const auto& file : judged.candidate.source.files()) {
    const auto lines = split(file.text, '\n');
    for (const auto& shape : scored->shapes) {
      for (const auto& spot : shape.hot_spots) {
        const int line = spot.where.line;
        if (spot.where.file != file.path || line < 1 || !seen.insert(line).second) continue;
        if (static_cast<std::size_t>(line) <= lines.size())
          text +=
              fmt::format("  line {}: {}\n", line, trim(lines[static_cast<std::size_t>(line) - 1]));
      }
    }
  }
  return text.empty() ? text : "\nThe hot lines:\n" + text;
}

/// What of the program may change, where its markers do not say it.
std::string regions_text(const std::string& text) {
  const auto regions = program::find_regions(text);
  if (!regions) return {};
  if (regions->empty())
    return "\nIt has no regions: all of it may change. Answer without REGION lines: with "
           "SEARCH/REPLACE pieces in one block, or with the whole program in one block.\n";
  std::vector<std::string> unnamed;
  for (const auto& region : *regions) {
    if (text.find("evolve begin " + region.name) == std::string::npos)
      unnamed.push_back(region.name);
  }
  if (unnamed.empty()) return {};
  return fmt::format("\nWhat stands between EVOLVE-BLOCK markers may change: the regions {}.\n",
                     join(unnamed, ", "));
}

const Judged* last_failure(const candidate::Task& task) {
  if (task.operation == candidate::Operation::Repair) return &task.history[task.parent];
  const Judged* last = nullptr;
  for (const Judged& judged : task.history) {
    if (judged.outcome && time_of(judged) == nullptr) last = &judged;
  }
  return last;
}

std::string plan_text(const candidate::Plan& plan) {
  // The default is no design to state: it communicates as before, or not at all.
  std::string text = plan.directive == design::Directive{}
                         ? "Follow this plan:\n"
                         : fmt::format("Follow this plan: {}\n", design::to_text(plan.directive));
  if (!plan.reason.empty()) text += fmt::format("{}\n", plan.reason);
  if (plan.expected_gain > 1)
    text += fmt::format("It should be {:.2f}x as fast as the parent.\n", plan.expected_gain);
  for (const std::string& condition : plan.preconditions)
    text += fmt::format("It needs: {}\n", condition);
  return text;
}

}  // namespace

std::string history_text(const candidate::History& history, std::size_t newest) {
  std::vector<std::pair<std::string, std::string>> told_once;  // numbers, text
  for (const Judged& judged : history) {
    const auto number = fmt::format("#{}", judged.candidate.number);
    auto text = told(judged, history);
    const auto known =
        std::ranges::find(told_once, text, &std::pair<std::string, std::string>::second);
    if (known == told_once.end()) {
      told_once.emplace_back(number, std::move(text));
    } else {
      known->first += ", " + number;
    }
  }
  const std::size_t first =
      newest == 0 || newest >= told_once.size() ? 0 : told_once.size() - newest;
  std::string text = first > 0 ? fmt::format("({} older ones are left out)\n", first) : "";
  for (std::size_t i = first; i < told_once.size(); ++i)
    text += fmt::format("{} {}", told_once[i].first, told_once[i].second);
  return text;
}

std::string parent_text(const candidate::Task& task) {
  const Judged& parent = task.history[task.parent];
  return fmt::format("#{}, {}. Its verdict:\n{}\n{}", task.parent, design_of(parent.candidate),
                     verdict_text(parent), hot_lines(parent));
}

std::string failure_text(const candidate::Task& task) {
  const Judged* failure = last_failure(task);
  if (failure == nullptr) return {};
  std::string text =
      fmt::format("#{}, {}", failure->candidate.number, design_of(failure->candidate));
  if (!failure->candidate.lineage.because.empty())
    text += fmt::format(" (meant to help because: {})", failure->candidate.lineage.because);
  const auto verdict = verdict_text(*failure);
  text += fmt::format("\n{}\n", verdict);
  const auto diff = diff_of(*failure, task.history);
  if (diff.empty()) return text;
  return text + fmt::format("What it changed in #{}:\n```diff\n{}\n```\n",
                            *failure->candidate.lineage.parent,
                            trim(cut_diff(diff, verdict, kMostDiff)));
}

std::string others_text(const candidate::Task& task) {
  std::string text;
  for (const candidate::Number number : task.inspirations) {
    if (static_cast<std::size_t>(number) >= task.history.size()) continue;
    const Judged& judged = task.history[number];
    text += fmt::format("#{}, {}: {}\n", number, design_of(judged.candidate), verdict_text(judged));
    // Of a failure the finding is enough.
    if (time_of(judged) == nullptr || task.operation != candidate::Operation::Crossover) continue;
    for (const auto& file : judged.candidate.source.files())
      text += fmt::format("```cuda\n{}\n```\n", trim(file.text));
  }
  return text;
}

std::string source_text(const candidate::Task& task) {
  const Judged& parent = task.history[task.parent];
  const Judged& shown = parent.candidate.source.empty() ? task.history.seed() : parent;
  std::string text;
  for (const auto& file : shown.candidate.source.files())
    text += file.text;
  return fmt::format("```cuda\n{}\n```\n{}", trim(text), regions_text(text));
}

std::string wish_text(const candidate::Task& task) {
  using candidate::Operation;
  std::string text;
  switch (task.operation) {
    case Operation::Rewrite:
      text = task.plan ? "" : "Write a program with another design than the parent's.\n";
      break;
    case Operation::Edit:
      text = "Keep the parent's design and make it faster.\n";
      break;
    case Operation::Crossover:
      text = "Join the parent's design with what the others do better.\n";
      break;
    case Operation::Repair:
      text = "Keep the design and make it correct.\n";
      break;
    case Operation::Tune:
      text = "Keep the parent's code and choose better constants.\n";
      break;
    case Operation::Jump:
      text = task.plan ? "" : "Take the parent to another design.\n";
      break;
  }
  return task.plan ? text + plan_text(*task.plan) : text;
}

}  // namespace cuco::agents
