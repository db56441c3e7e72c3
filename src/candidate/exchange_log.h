// SPDX-License-Identifier: Apache-2.0
/// \file
/// ExchangeLog: the way of every single question to a model. Reserve, ask, store, use, in this
/// order, so that a kill -9 between two of an agent's many calls loses no answer that was paid for.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/result.h"

namespace cuco::candidate {

/// What decides the answer.
struct Question {
  std::string provider;
  std::string model;
  std::string role;  ///< Which of an agent's calls: "propose", "review", …
  std::string system;
  std::string prompt;
  std::uint64_t seed = 0;
  std::int64_t most_tokens = 0;  ///< Reserved until the answer says what it took.
  double most_dollars = 0;       ///< The same; 0 where it costs nothing, or nobody knows.
};

/// Identifies a question: the same text to the same model gets the stored answer.
[[nodiscard]] std::string hash_of(const Question& question);

/// One question and its answer, kept for ever.
struct Exchange {
  std::string question;  ///< hash_of() it; empty in runs of older versions.
  std::string provider;
  std::string model;
  std::string role;
  std::string prompt;
  std::string answer;
  int prompt_tokens = 0;
  int answer_tokens = 0;
  int cached_tokens = 0;     ///< Of the prompt's.
  int reasoning_tokens = 0;  ///< Of the answer's.
  int lost_tokens = 0;       ///< Of attempts that broke off: paid for, beside the others.
  double dollars = -1;       ///< Negative: nobody knows the price.
  std::string answered_by;   ///< "PROVIDER:MODEL" where that is not who was asked.
  double seconds = 0;
  bool operator==(const Exchange&) const = default;
};

class ExchangeLog {
 public:
  virtual ~ExchangeLog() = default;

  /// The answer as the provider gave it; the log fills in what the question says.
  using Call = std::function<Result<Exchange>()>;

  /// The stored answer if this question was paid for before; otherwise reserves its tokens, calls,
  /// and returns the answer once it is durable. Fails as the call does, or with Unavailable when
  /// the budget is spent.
  [[nodiscard]] virtual Result<Exchange> ask(const Question& question, const Call& call) = 0;
};

}  // namespace cuco::candidate
