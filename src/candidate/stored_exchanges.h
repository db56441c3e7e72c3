// SPDX-License-Identifier: Apache-2.0
/// \file
/// The exchanges of one decision: answered from the store where they are there, and stored before
/// they are used where they are not.
#pragma once

#include <vector>

#include "candidate/run.h"

namespace cuco::candidate {

class StoredExchanges final : public ExchangeLog {
 public:
  StoredExchanges(Run& run, Decision decision);

  [[nodiscard]] Result<Exchange> ask(const Question& question, const Call& call) override;

  /// The proposer is asked once more: what it asks again is answered again.
  void start_over() { used_.assign(paid_.size(), false); }
  /// A question was refused because there was no money left.
  [[nodiscard]] bool budget_spent() const { return budget_spent_; }

 private:
  Result<void> reserve(const Question& question, const std::string& hash);

  Run& run_;
  Decision decision_;
  std::vector<Exchange> paid_;
  std::vector<bool> used_;  ///< In this try: a question that is asked twice has two answers.
  bool budget_spent_ = false;
};

}  // namespace cuco::candidate
