// SPDX-License-Identifier: Apache-2.0
#include "agents/prompt.h"

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

/// Values are not scanned again: a program may contain "{{".
std::string filled(std::string_view name,
                   const std::map<std::string, std::string, std::less<>>& values) {
  const auto found = resource(name);
  CUCO_ASSERT(found.has_value());
  std::string result;
  std::string_view rest = *found;
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

}  // namespace

std::string system_prompt() {
  return filled("system.md", {});
}

std::string proposal_prompt(const Problem& problem, const candidate::Task& task) {
  const auto& parent = task.history[task.parent];
  const auto verdict = parent.outcome ? candidate::explanation(*parent.outcome) : "not judged";
  std::string source;
  for (const auto& file : parent.candidate.source.files())
    source += file.text;
  return filled("propose.md",
                {{"summary", problem.summary},
                 {"target", problem.target},
                 {"analysis", problem.analysis},
                 {"space", design::describe_space(problem.program, problem.topology, problem.nccl)},
                 {"history", history_text(task.history)},
                 {"parent", std::to_string(task.parent)},
                 {"directive", design::to_text(parent.candidate.directive)},
                 {"verdict", verdict.substr(0, kMaxVerdict)},
                 {"source", std::string(trim(source))},
                 {"api", problem.api}});
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
