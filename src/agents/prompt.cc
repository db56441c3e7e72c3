// SPDX-License-Identifier: Apache-2.0
#include "agents/prompt.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "agents/task_text.h"
#include "base/assert.h"
#include "base/text.h"
#include "design/space.h"

namespace cuco::agents {

std::optional<std::string_view> resource(std::string_view name);

namespace {

constexpr std::size_t kBytesPerToken = 3;
constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";

struct SectionName {
  std::string_view name;
  std::string_view heading;
  bool of_the_run;  ///< The same in all prompts of a run.
};

constexpr std::array<SectionName, 16> kSections = {{
    {"program", "The program", true},
    {"contract", "The contract", true},
    {"target", "The target", true},
    {"analysis", "What the analysis found in the seed", true},
    {"blocks", "What blocks touch, seen in runs on virtual GPUs", true},
    {"space", "The design space for this program", true},
    {"strategy", "What works here, and what to watch", true},
    {"api", "NCCL device API, from the installed headers", true},
    {"example", "An example", true},
    {"history", "What has been tried", false},
    {"failure", "The last failure", false},
    {"others", "Others worth a look, failures among them", false},
    {"notes", "What was learnt so far", false},
    {"parent", "The parent", false},
    {"source", "The program's source", false},
    {"task", "Your task", false},
}};

using Texts = std::map<std::string, std::string, std::less<>>;

std::string_view template_text(std::string_view name) {
  const auto found = resource(name);
  CUCO_ASSERT(found.has_value());
  return *found;
}

const SectionName* find_section(std::string_view name) {
  const auto found = std::ranges::find(kSections, name, &SectionName::name);
  return found == kSections.end() ? nullptr : &*found;
}

std::string strategy_text(const Problem& problem) {
  std::string text(template_text("kernel.md"));
  if (!problem.program.has_collective) return text;
  text += template_text("host.md");
  if (problem.topology.lsa_ranks > 1) text += template_text("lsa.md");
  if (problem.topology.multimem && problem.program.sends_to_all)
    text += template_text("multimem.md");
  if (problem.topology.gin) text += template_text("gin.md");
  return text;
}

std::string space_text(const Problem& problem) {
  if (!problem.program.has_collective) {
    return "The program does not communicate: its kernels and launches can change, and the "
           "directive is `none`.\n";
  }
  return design::describe_space(problem.program, problem.topology, problem.nccl);
}

std::string in_fence(const std::string& code) {
  return code.empty() ? code : fmt::format("```cuda\n{}\n```\n", trim(code));
}

/// Bodies by name; an empty one is left out.
Texts texts_of(const Problem& problem, const candidate::Task& task) {
  Texts texts;
  texts["program"] = problem.summary;
  texts["contract"] = problem.contract;
  texts["target"] = problem.target;
  texts["analysis"] = problem.analysis;
  texts["blocks"] = problem.blocks;
  texts["space"] = space_text(problem);
  texts["strategy"] = strategy_text(problem);
  texts["api"] = in_fence(problem.api);
  texts["example"] = problem.api.empty() ? std::string() : std::string(template_text("example.md"));
  texts["history"] = history_text(task.history);
  texts["failure"] = failure_text(task);
  texts["others"] = others_text(task);
  for (const std::string& note : task.notes)
    texts["notes"] += fmt::format("- {}\n", note);
  texts["parent"] = parent_text(task);
  texts["source"] = source_text(task);
  texts["task"] = wish_text(task);
  return texts;
}

struct Filled {
  std::string text;
  std::size_t shared_prefix = 0;
};

/// Texts are not scanned again: a program may contain "{{".
Filled filled(std::string_view rest, const Texts& texts) {
  Filled made;
  bool shared = true;
  for (auto open = rest.find(kOpen); open != std::string_view::npos; open = rest.find(kOpen)) {
    const auto close = rest.find(kClose, open);
    CUCO_ASSERT(close != std::string_view::npos);
    const SectionName* section = find_section(rest.substr(open + 2, close - open - 2));
    CUCO_ASSERT(section != nullptr);
    made.text += rest.substr(0, open);
    rest.remove_prefix(close + 2);
    if (shared && !section->of_the_run) {
      made.shared_prefix = made.text.size();
      shared = false;
    }
    const auto body = texts.find(section->name);
    if (body == texts.end() || trim(body->second).empty()) {
      if (rest.starts_with('\n')) rest.remove_prefix(1);  // the line that it stood on
      continue;
    }
    made.text += fmt::format("# {}\n\n{}\n", section->heading, trim(body->second));
  }
  made.text += rest;
  if (shared) made.shared_prefix = made.text.size();
  return made;
}

/// One thing that a prompt can do without.
struct Sacrifice {
  std::string_view section;
  std::string_view called;
  std::size_t keep = 0;  ///< Of the history: so many of its newest.
};

constexpr std::array<Sacrifice, 8> kSacrifices = {{
    {"example", "the example"},
    {"blocks", "what blocks touch"},
    {"others", "others' work"},
    {"history", "older candidates", 12},
    {"analysis", "the analysis of the seed"},
    {"api", "the API"},
    {"strategy", "the strategy notes"},
    {"history", "the history"},
}};

}  // namespace

std::int64_t tokens_of(std::size_t bytes) {
  return static_cast<std::int64_t>(bytes / kBytesPerToken);
}

Result<void> check_template(std::string_view text) {
  for (auto open = text.find(kOpen); open != std::string_view::npos;
       open = text.find(kOpen, open + 2)) {
    const auto close = text.find(kClose, open);
    const auto name =
        text.substr(open + 2, close == std::string_view::npos ? 20 : close - open - 2);
    if (close != std::string_view::npos && find_section(name) != nullptr) continue;
    std::vector<std::string> names;
    for (const SectionName& section : kSections)
      names.emplace_back(section.name);
    return Error{ErrorKind::InvalidInput,
                 fmt::format("'{{{{{}}}}}' is no section; there are: {}", name, join(names, ", "))};
  }
  return {};
}

Prompt make_prompt(const Role& role, const Problem& problem, const candidate::Task& task) {
  const bool writes = role.form == AnswerForm::Program;
  Prompt made{.system = std::string(template_text(writes ? "system.md" : "advice.md"))};
  const auto own = problem.templates.find(role.name);
  const std::string_view form = own != problem.templates.end()
                                    ? std::string_view(own->second)
                                    : template_text(fmt::format("{}.md", role.name));
  Texts texts = texts_of(problem, task);
  Filled now = filled(form, texts);
  std::vector<std::string> lost;
  // Who joins versions needs them more than anything else that can go.
  const bool joins = task.operation == candidate::Operation::Crossover;
  for (const Sacrifice& sacrifice : kSacrifices) {
    if (tokens_of(made.system.size() + now.text.size()) <= problem.most_tokens) break;
    if (joins && sacrifice.section == "others") continue;
    std::string& body = texts[std::string(sacrifice.section)];
    auto less = sacrifice.keep > 0 ? history_text(task.history, sacrifice.keep) : std::string();
    if (body == less || form.find(sacrifice.section) == std::string_view::npos) continue;
    body = std::move(less);
    lost.emplace_back(sacrifice.called);
    now = filled(form, texts);
  }
  made.text = std::move(now.text);
  made.shared_prefix = now.shared_prefix;
  if (!lost.empty())
    made.text += fmt::format("\n(Left out, as this would be too long: {}.)\n", join(lost, ", "));
  return made;
}

}  // namespace cuco::agents
