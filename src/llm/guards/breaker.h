// SPDX-License-Identifier: Apache-2.0
/// \file
/// A circuit breaker: a service that fails again and again is left alone for a while.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "llm/provider.h"

namespace cuco::llm {

struct BreakerPolicy {
  int failures = 3;  ///< In a row: Unavailable or Timeout, each after all its attempts.
  std::chrono::seconds pause{60};
  /// While it is open: wait for its end (the last resort), or fail at once (there is another
  /// model).
  bool waits = false;
};

/// After the pause one call is let through: it closes the circuit, or opens it again.
class BreakerProvider final : public Provider {
 public:
  BreakerProvider(std::unique_ptr<Provider> inner, BreakerPolicy policy, Clock& clock)
      : inner_(std::move(inner)), policy_(policy), clock_(clock) {}

  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] std::string model() const override { return inner_->model(); }
  Result<Reply> complete(const Request& request) override;

 private:
  /// Time until a call may go through; 0: now.
  [[nodiscard]] Nanoseconds admit();
  void remember(const Result<Reply>& reply);

  std::unique_ptr<Provider> inner_;
  BreakerPolicy policy_;
  Clock& clock_;
  std::mutex mutex_;
  int failures_ = 0;
  Nanoseconds closed_until_{0};  ///< Nobody passes before this.
  std::string last_problem_;
};

}  // namespace cuco::llm
