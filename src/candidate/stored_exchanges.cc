// SPDX-License-Identifier: Apache-2.0
#include "candidate/stored_exchanges.h"

#include <utility>

#include <fmt/format.h>

#include "base/hash.h"

namespace cuco::candidate {

std::string hash_of(const Question& question) {
  // Lengths first: no two questions have the same text.
  std::string text;
  for (const std::string* part :
       {&question.provider, &question.model, &question.role, &question.system, &question.prompt}) {
    text += fmt::format("{}:{}", part->size(), *part);
  }
  return content_id(text + std::to_string(question.seed));
}

StoredExchanges::StoredExchanges(Run& run, Decision decision) : run_(run), decision_(decision) {
  const std::lock_guard lock(*run.mutex_);
  const auto& unused = run.state_.unused_exchanges;
  if (const auto found = unused.find(decision); found != unused.end()) paid_ = found->second;
  start_over();
}

Result<void> StoredExchanges::reserve(const Question& question, const std::string& hash) {
  const std::lock_guard lock(*run_.mutex_);
  const ExchangeBudget& budget = run_.settings_.exchanges;
  const RunState& state = run_.state_;
  const bool no_calls = budget.calls && state.calls >= *budget.calls;
  const bool no_tokens = budget.tokens && state.tokens + question.most_tokens > *budget.tokens;
  const bool no_dollars = budget.dollars && state.dollars + question.most_dollars > *budget.dollars;
  if (no_calls || no_tokens || no_dollars) {
    budget_spent_ = true;
    return Error{ErrorKind::Unavailable,
                 fmt::format("budget of {} spent", no_calls    ? "calls"
                                                   : no_tokens ? "tokens"
                                                               : "dollars")};
  }
  return run_.append_locked(Reserved{decision_, hash, question.most_tokens, question.most_dollars});
}

Result<Exchange> StoredExchanges::ask(const Question& question, const Call& call) {
  const std::string hash = hash_of(question);
  for (std::size_t i = 0; i < paid_.size(); ++i) {
    if (used_[i] || paid_[i].question != hash) continue;
    used_[i] = true;
    return paid_[i];
  }
  CUCO_TRY(reserve(question, hash));
  CUCO_TRY_ASSIGN(Exchange exchange, call());
  exchange.question = hash;
  exchange.provider = question.provider;
  exchange.model = question.model;
  exchange.role = question.role;
  exchange.prompt = question.prompt;
  // Durable before anything is done with it.
  CUCO_TRY(run_.append(Exchanged{decision_, exchange}));
  paid_.push_back(exchange);
  used_.push_back(true);
  return exchange;
}

}  // namespace cuco::candidate
