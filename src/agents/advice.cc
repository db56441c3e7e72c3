// SPDX-License-Identifier: Apache-2.0
#include "agents/advice.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "agents/answer_text.h"
#include "agents/reply.h"
#include "base/text.h"
#include "llm/structured.h"

namespace cuco::agents {
namespace {

constexpr std::size_t kMostPlans = 8;
constexpr std::size_t kMostShapes = 6;
constexpr std::size_t kMostNotes = 8;
constexpr std::size_t kLongestNote = 500;
constexpr std::size_t kLongestPlan = 4000;
constexpr std::size_t kLongestWords = 4000;
constexpr double kMostGain = 1000;

/// The array of that name in the answer's object.
Result<Json> list_of(std::string_view answer, const char* name) {
  CUCO_TRY_ASSIGN(const std::string plain, plain_answer(answer));
  CUCO_TRY_ASSIGN(const Json json, llm::read_structured(plain));
  const auto list = json.find(name);
  if (list == json.end() || !list->is_array() || list->empty())
    return Error{ErrorKind::Protocol, fmt::format("the answer has no list of {}", name)};
  return *list;
}

/// The text of a field, whatever the model made of it.
std::string text_of(const Json& object, const char* name, std::size_t most) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || found == object.end()) return {};
  return shortened(found->is_string() ? found->get<std::string>() : to_text(*found), most);
}

Result<candidate::Plan> plan_of(const Json& json, const Problem& problem) {
  candidate::Plan plan;
  CUCO_TRY_ASSIGN(plan.directive, parse_stated_directive(text_of(json, "directive", 300),
                                                         problem.program.has_collective));
  const auto reasons =
      design::violations(plan.directive, problem.program, problem.topology, problem.nccl);
  if (!reasons.empty())
    return Error{ErrorKind::Protocol,
                 fmt::format("{} is not valid here: {}", design::to_text(plan.directive),
                             join(reasons, "; "))};
  const auto title = text_of(json, "title", 200);
  const auto steps = text_of(json, "steps", kLongestPlan);
  const auto reason = text_of(json, "reason", kLongestPlan);
  plan.reason = fmt::format("{}. {}{}{}", title.empty() ? "A plan" : title, steps,
                            reason.empty() ? "" : "\nWhy: ", reason);
  const auto gain = json.find("expected_gain");
  if (gain != json.end() && gain->is_number()) {
    const double value = gain->get<double>();
    if (std::isfinite(value)) plan.expected_gain = std::clamp(value, 0.0, kMostGain);
  }
  const auto needs = json.find("needs");
  if (needs != json.end() && needs->is_array()) {
    for (const Json& need : *needs) {
      if (need.is_string() && plan.preconditions.size() < kMostNotes)
        plan.preconditions.push_back(shortened(need.get<std::string>(), kLongestNote));
    }
  }
  return plan;
}

}  // namespace

Result<void> RoleAdvisor::advise(const candidate::Task& task, candidate::ExchangeLog& log) {
  CUCO_TRY(questioner_.ask(role_, task, log));
  return {};
}

Result<std::vector<candidate::Plan>> read_plans(std::string_view answer, const Problem& problem) {
  CUCO_TRY_ASSIGN(const Json list, list_of(answer, "plans"));
  std::vector<candidate::Plan> plans;
  std::string why;
  for (const Json& json : list) {
    if (plans.size() == kMostPlans) break;
    if (!json.is_object()) continue;
    auto plan = plan_of(json, problem);
    if (plan) {
      plans.push_back(*std::move(plan));
    } else if (why.empty()) {
      why = plan.error().message();
    }
  }
  if (plans.empty())
    return Error{ErrorKind::Protocol,
                 why.empty() ? "no plan can be read" : "no plan is possible: " + why};
  return plans;
}

Result<std::vector<std::vector<long long>>> read_shapes(std::string_view answer) {
  CUCO_TRY_ASSIGN(const Json list, list_of(answer, "shapes"));
  std::vector<std::vector<long long>> shapes;
  for (const Json& json : list) {
    const auto params = json.is_object() ? json.find("params") : json.end();
    if (!json.is_object() || params == json.end() || !params->is_array()) continue;
    std::vector<long long> values;
    for (const Json& value : *params) {
      if (value.is_number_integer() || value.is_boolean())
        values.push_back(value.is_boolean() ? (value.get<bool>() ? 1 : 0) : value.get<long long>());
    }
    if (values.size() == params->size() && shapes.size() < kMostShapes)
      shapes.push_back(std::move(values));
  }
  if (shapes.empty()) return Error{ErrorKind::Protocol, "no shape can be read"};
  return shapes;
}

std::string read_words(std::string_view answer) {
  const auto plain = plain_answer(answer);
  return plain ? shortened(trim(*plain), kLongestWords) : std::string();
}

Result<std::vector<std::string>> read_notes(std::string_view answer) {
  CUCO_TRY_ASSIGN(const Json list, list_of(answer, "notes"));
  std::vector<std::string> notes;
  for (const Json& json : list) {
    if (json.is_string() && notes.size() < kMostNotes)
      notes.push_back(shortened(json.get<std::string>(), kLongestNote));
  }
  if (notes.empty()) return Error{ErrorKind::Protocol, "no note can be read"};
  return notes;
}

}  // namespace cuco::agents
