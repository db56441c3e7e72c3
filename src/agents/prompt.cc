// SPDX-License-Identifier: Apache-2.0
#include "agents/prompt.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/assert.h"
#include "base/text.h"
#include "design/space.h"

namespace cuco::agents {

std::optional<std::string_view> resource(std::string_view name);

namespace {

constexpr std::size_t kMaxVerdict = 3000;

using Values = std::map<std::string, std::string, std::less<>>;

std::string_view template_text(std::string_view name) {
  const auto found = resource(name);
  CUCO_ASSERT(found.has_value());
  return *found;
}

/// Values are not scanned again: a program may contain "{{".
std::string filled(std::string_view rest, const Values& values) {
  std::string result;
  for (auto open = rest.find("{{"); open != std::string_view::npos; open = rest.find("{{")) {
    const auto close = rest.find("}}", open);
    const auto value = values.find(rest.substr(open + 2, close - open - 2));
    CUCO_ASSERT(value != values.end());
    result += rest.substr(0, open);
    result += value->second;
    rest.remove_prefix(close + 2);
  }
  return result += rest;
}

/// What is the same in all prompts of a run.
Values constant_values(const Problem& problem) {
  return {{"summary", problem.summary},
          {"target", problem.target},
          {"analysis", problem.analysis},
          {"space", design::describe_space(problem.program, problem.topology, problem.nccl)},
          {"api", problem.api}};
}

/// One line a candidate: enough to see what was tried and why it failed.
std::string history_text(const candidate::History& history) {
  std::string text;
  for (const auto& judged : history) {
    const auto& candidate = judged.candidate;
    const auto design = candidate.number == candidate::kSeed ? std::string("the seed")
                                                             : design::to_text(candidate.directive);
    text += fmt::format("#{} {}: {}\n", candidate.number, design,
                        judged.outcome ? candidate::summary(*judged.outcome) : "not judged");
  }
  return text;
}

std::string_view wish(candidate::Operation operation) {
  switch (operation) {
    case candidate::Operation::Rewrite:
      return "Write a program with another design than the parent's.";
    case candidate::Operation::Edit:
      return "Keep the parent's design and make it faster.";
    case candidate::Operation::Crossover:
      return "Join the parent's design with what the others below do better.";
    case candidate::Operation::Repair:
      return "The parent failed, as its verdict says. Keep its design and make it correct.";
    case candidate::Operation::Tune:
      return "Keep the parent's code and choose better constants.";
  }
  return "";
}

std::string plan_text(const candidate::Plan& plan) {
  std::string text = fmt::format("Follow this plan: {}\n", design::to_text(plan.directive));
  if (!plan.reason.empty()) text += fmt::format("Its reason: {}\n", plan.reason);
  for (const std::string& condition : plan.preconditions)
    text += fmt::format("It needs: {}\n", condition);
  return text;
}

/// Others worth a look. Code is shown where it is to be joined; of a failure the finding is enough.
std::string inspiration_text(const candidate::Judged& judged, candidate::Operation operation) {
  const auto& candidate = judged.candidate;
  std::string text =
      fmt::format("\n#{} {}\n", candidate.number, design::to_text(candidate.directive));
  if (judged.outcome) text += candidate::explanation(*judged.outcome).substr(0, kMaxVerdict) + "\n";
  const bool correct = judged.outcome && std::holds_alternative<candidate::Scored>(*judged.outcome);
  if (!correct || operation != candidate::Operation::Crossover) return text;
  for (const auto& file : candidate.source.files())
    text += fmt::format("```cuda\n{}\n```\n", trim(file.text));
  return text;
}

std::string task_text(const candidate::Task& task) {
  std::string text = fmt::format("{}\n", wish(task.operation));
  if (task.plan) text += plan_text(*task.plan);
  if (!task.notes.empty()) text += "\nWhat was learnt so far:\n";
  for (const std::string& note : task.notes)
    text += fmt::format("- {}\n", note);
  if (!task.inspirations.empty()) text += "\nOthers worth a look, failures among them:\n";
  for (const candidate::Number number : task.inspirations) {
    if (static_cast<std::size_t>(number) < task.history.size())
      text += inspiration_text(task.history[number], task.operation);
  }
  return text;
}

}  // namespace

std::string system_prompt() {
  return filled(template_text("system.md"), {});
}

std::size_t shared_prefix(const Problem& problem) {
  const auto text = template_text("propose.md");
  std::size_t end = text.size();
  for (const std::string_view own : {"history", "parent", "directive", "verdict", "source"})
    end = std::min(end, text.find(fmt::format("{{{{{}}}}}", own)));
  return filled(text.substr(0, end), constant_values(problem)).size();
}

std::string proposal_prompt(const Problem& problem, const candidate::Task& task) {
  const auto& parent = task.history[task.parent];
  const auto verdict = parent.outcome ? candidate::explanation(*parent.outcome) : "not judged";
  std::string source;
  for (const auto& file : parent.candidate.source.files())
    source += file.text;
  Values values = constant_values(problem);
  values["history"] = history_text(task.history);
  values["parent"] = std::to_string(task.parent);
  values["directive"] = design::to_text(parent.candidate.directive);
  values["verdict"] = verdict.substr(0, kMaxVerdict);
  values["task"] = task_text(task);
  values["source"] = std::string(trim(source));
  return filled(template_text("propose.md"), values);
}

std::vector<std::string> api_headers() {
  return {"nccl_device/core.h", "nccl_device/coop.h", "nccl_device/lsa_barrier.h"};
}

std::string cut_api(const std::vector<std::string>& headers) {
  std::string result;
  for (const auto& header : headers) {
    std::string code;
    // Comments first: a block comment may span lines.
    for (std::size_t at = 0; at < header.size();) {
      if (header.compare(at, 2, "/*") == 0) {
        const auto end = header.find("*/", at + 2);
        at = end == std::string::npos ? header.size() : end + 2;
      } else if (header.compare(at, 2, "//") == 0) {
        at = std::min(header.find('\n', at), header.size());
      } else {
        code += header[at++];
      }
    }
    // Directives go, with their continuation lines: a model needs signatures, not include guards.
    bool continued = false;
    for (const auto line : split(code, '\n')) {
      const auto content = trim(line);
      const bool directive = continued || content.starts_with('#');
      continued = directive && content.ends_with('\\');
      if (!directive && !content.empty()) result += std::string(line) + '\n';
    }
  }
  return result;
}

}  // namespace cuco::agents
