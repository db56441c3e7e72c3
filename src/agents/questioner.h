// SPDX-License-Identifier: Apache-2.0
/// \file
/// The way of every question of an agent: the prompt of a role for a task, asked once and kept.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "agents/prompt.h"
#include "candidate/exchange_log.h"
#include "llm/provider.h"

namespace cuco::agents {

/// How a model is asked.
struct ModelCall {
  std::chrono::seconds deadline{600};
  int max_tokens = 16384;
  /// The effort of a role; empty function or text: the model's own default.
  std::function<std::string(std::string_view role)> effort = {};
  std::uint64_t run_seed = 0;          ///< Tasks are numbered from it.
  std::string run = {};                ///< Its name, for recordings.
  int in_flight = 1;                   ///< Questions at once.
  double dollars_per_token = 0;        ///< The most that one costs; reserved before the call.
  std::function<bool()> stopped = {};  ///< The user wants to stop; may be empty.
};

class Questioner {
 public:
  /// `provider` must outlive it.
  Questioner(llm::Provider& provider, Problem problem, ModelCall call)
      : provider_(provider), problem_(std::move(problem)), call_(std::move(call)) {}

  /// "PROVIDER:MODEL"
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const Problem& problem() const { return problem_; }
  [[nodiscard]] int in_flight() const { return call_.in_flight; }

  /// What the role is asked for this task.
  [[nodiscard]] llm::Request request_for(const Role& role, const candidate::Task& task) const;

  /// The role's answer, from the log if it was paid for before.
  [[nodiscard]] Result<std::string> ask(const Role& role,
                                        const candidate::Task& task,
                                        candidate::ExchangeLog& log) const;

 private:
  llm::Provider& provider_;
  Problem problem_;
  ModelCall call_;
};

}  // namespace cuco::agents
