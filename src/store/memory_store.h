// SPDX-License-Identifier: Apache-2.0
/// \file
/// A store that forgets: for tests and for searches that nobody wants to keep.
#pragma once

#include "base/clock.h"
#include "candidate/run_summary.h"
#include "candidate/store.h"

namespace cuco::store {

class MemoryStore final : public candidate::CandidateStore {
 public:
  explicit MemoryStore(const Clock& clock) : clock_(clock) {}

  Result<candidate::Event> append(candidate::EventBody body) override;
  [[nodiscard]] Result<std::vector<candidate::Event>> events(std::int64_t sequence) const override;
  [[nodiscard]] Result<candidate::RunSummary> summary() const override;

 private:
  const Clock& clock_;
  std::vector<candidate::Event> events_;
};

}  // namespace cuco::store
