// SPDX-License-Identifier: Apache-2.0
/// \file
/// Exchange logs without a run: one that refuses every question, and one that remembers.
#pragma once

#include <vector>

#include "candidate/exchange_log.h"

namespace cuco::fakes {

class NoExchanges final : public candidate::ExchangeLog {
 public:
  Result<candidate::Exchange> ask(const candidate::Question& /*question*/,
                                  const Call& /*call*/) override {
    return Error{ErrorKind::Unavailable, "nobody may be asked"};
  }
};

/// Calls, and keeps what came back; `paid` is answered without a call.
class KeptExchanges final : public candidate::ExchangeLog {
 public:
  Result<candidate::Exchange> ask(const candidate::Question& question, const Call& call) override {
    for (const auto& exchange : paid) {
      if (exchange.prompt == question.prompt) return exchange;
    }
    CUCO_TRY_ASSIGN(auto exchange, call());
    exchange.prompt = question.prompt;
    kept.push_back(exchange);
    return exchange;
  }
  std::vector<candidate::Exchange> paid;
  std::vector<candidate::Exchange> kept;
};

}  // namespace cuco::fakes
