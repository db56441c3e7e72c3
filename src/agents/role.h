// SPDX-License-Identifier: Apache-2.0
/// \file
/// Role: what somebody who is asked is there for. A role is a file in prompts/ and the form of its
/// answer; what it is told are the sections that the file names.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "candidate/task.h"
#include "llm/provider.h"

namespace cuco::agents {

enum class AnswerForm {
  Program,  ///< A directive and regions: reply.h.
  Plans,    ///< JSON: advice.h has the readers of these three.
  Shapes,
  Notes,
  Text,  ///< Prose for others to read.
};

struct Role {
  std::string_view name;
  AnswerForm form = AnswerForm::Text;
  std::string_view what;  ///< For people: one line.
};

[[nodiscard]] std::span<const Role> all_roles();
/// Null if there is none of that name.
[[nodiscard]] const Role* find_role(std::string_view name);
/// "propose, coder, …"
[[nodiscard]] std::string role_names();

/// Who writes the program that a task asks for.
[[nodiscard]] const Role& role_for(const candidate::Task& task);

/// The schema of a structured answer, for services that enforce one.
[[nodiscard]] std::optional<llm::AnswerSchema> schema_of(AnswerForm form);

}  // namespace cuco::agents
