// SPDX-License-Identifier: Apache-2.0
#include "agents/role.h"

#include <algorithm>
#include <array>

#include "base/assert.h"
#include "base/text.h"

namespace cuco::agents {
namespace {

constexpr std::array<Role, 12> kRoles = {{
    {"propose", AnswerForm::Program, "writes the next version, as it thinks best"},
    {"coder", AnswerForm::Program, "implements one plan"},
    {"repair", AnswerForm::Program, "mends a program that was rejected"},
    {"transformer", AnswerForm::Program, "writes the first version that communicates on the GPU"},
    {"crossover", AnswerForm::Program, "joins two versions"},
    {"planner", AnswerForm::Plans, "gives three plans with their expected gains"},
    {"analyst", AnswerForm::Text, "says what the program does with its time and data"},
    {"profiler", AnswerForm::Text, "finds the bottleneck in the profile"},
    {"tester", AnswerForm::Shapes, "names shapes on which rewrites are likely to be wrong"},
    {"explainer", AnswerForm::Text, "turns a finding into a diagnosis"},
    {"contrast", AnswerForm::Text, "says why one version is faster than another"},
    {"summariser", AnswerForm::Notes, "sums up what the run has taught"},
}};

constexpr std::string_view kPlans = R"({"type":"object","additionalProperties":false,
"required":["plans"],"properties":{"plans":{"type":"array","items":{"type":"object",
"additionalProperties":false,"required":["title","directive","steps","reason","expected_gain",
"needs"],"properties":{"title":{"type":"string"},"directive":{"type":"string"},
"steps":{"type":"string"},"reason":{"type":"string"},"expected_gain":{"type":"number"},
"needs":{"type":"array","items":{"type":"string"}}}}}}})";

constexpr std::string_view kShapes = R"({"type":"object","additionalProperties":false,
"required":["shapes"],"properties":{"shapes":{"type":"array","items":{"type":"object",
"additionalProperties":false,"required":["params","why"],"properties":{"params":{"type":"array",
"items":{"type":"integer"}},"why":{"type":"string"}}}}}})";

constexpr std::string_view kNotes = R"({"type":"object","additionalProperties":false,
"required":["notes"],"properties":{"notes":{"type":"array","items":{"type":"string"}}}})";

const Role& known(std::string_view name) {
  const Role* found = find_role(name);
  CUCO_ASSERT(found != nullptr);
  return *found;
}

}  // namespace

std::span<const Role> all_roles() {
  return kRoles;
}

const Role* find_role(std::string_view name) {
  const auto found = std::ranges::find(kRoles, name, &Role::name);
  return found == kRoles.end() ? nullptr : &*found;
}

std::string role_names() {
  std::vector<std::string> names;
  for (const Role& role : kRoles)
    names.emplace_back(role.name);
  return join(names, ", ");
}

const Role& role_for(const candidate::Task& task) {
  if (task.operation == candidate::Operation::Repair) return known("repair");
  if (task.operation == candidate::Operation::Crossover) return known("crossover");
  if (task.phase == "fast path") return known("transformer");
  return known(task.plan ? "coder" : "propose");
}

std::optional<llm::AnswerSchema> schema_of(AnswerForm form) {
  const auto schema = [](std::string_view name, std::string_view json) {
    return llm::AnswerSchema{std::string(name), std::string(json)};
  };
  if (form == AnswerForm::Plans) return schema("plans", kPlans);
  if (form == AnswerForm::Shapes) return schema("shapes", kShapes);
  if (form == AnswerForm::Notes) return schema("notes", kNotes);
  return std::nullopt;
}

}  // namespace cuco::agents
