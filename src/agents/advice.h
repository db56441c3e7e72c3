// SPDX-License-Identifier: Apache-2.0
/// \file
/// Roles that are asked for words, and what is read from their answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "agents/questioner.h"
#include "candidate/proposer.h"

namespace cuco::agents {

class RoleAdvisor final : public candidate::Advisor {
 public:
  /// `questioner` must outlive it.
  RoleAdvisor(const Questioner& questioner, const Role& role)
      : questioner_(questioner), role_(role) {}

  [[nodiscard]] std::string name() const override { return questioner_.name(); }
  [[nodiscard]] Result<void> advise(const candidate::Task& task,
                                    candidate::ExchangeLog& log) override;

 private:
  const Questioner& questioner_;
  const Role& role_;
};

/// The planner's plans that are possible for this problem. Protocol: there is none, and why.
[[nodiscard]] Result<std::vector<candidate::Plan>> read_plans(std::string_view answer,
                                                              const Problem& problem);

/// The tester's shapes: values in the order of the parameters.
[[nodiscard]] Result<std::vector<std::vector<long long>>> read_shapes(std::string_view answer);

/// What others are told of an answer in words: its begin, without thoughts; empty where it has
/// none.
[[nodiscard]] std::string read_words(std::string_view answer);

/// The summariser's sentences; few and short, whatever the answer has.
[[nodiscard]] Result<std::vector<std::string>> read_notes(std::string_view answer);

}  // namespace cuco::agents
