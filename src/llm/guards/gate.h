// SPDX-License-Identifier: Apache-2.0
/// \file
/// How many calls a service gets at once, and how many in a minute, from all that ask it here.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "llm/catalogue/model_facts.h"
#include "llm/provider.h"
#include "llm/stoppable_job.h"

namespace cuco::llm {

class Gate {
 public:
  /// `clock` must outlive it. 0 stands for no limit.
  Gate(int in_flight, int per_minute, Clock& clock)
      : in_flight_(in_flight), per_minute_(per_minute), clock_(clock) {}

  /// Lets one call in for as long as it lives.
  class Pass {
   public:
    explicit Pass(Gate& gate) : gate_(&gate) {}
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_ != nullptr) gate_->leave();
    }

   private:
    Gate* gate_;
  };

  /// Waits for its turn; Unavailable if that does not come within `patience`, or when stopped.
  [[nodiscard]] Result<Pass> enter(Nanoseconds patience, const Stopped& stopped);

 private:
  [[nodiscard]] bool try_enter();
  void leave();

  int in_flight_;
  int per_minute_;
  Clock& clock_;
  std::mutex mutex_;
  int inside_ = 0;
  std::deque<Nanoseconds> starts_;  ///< Of the last minute.
};

/// One gate for each service.
class Gates {
 public:
  explicit Gates(Clock& clock) : clock_(clock) {}
  [[nodiscard]] std::shared_ptr<Gate> of(const ServiceFacts& service);

 private:
  Clock& clock_;
  std::map<std::string, std::shared_ptr<Gate>> gates_;
};

/// A provider behind a gate. The wait is part of the request's deadline.
class GatedProvider final : public Provider {
 public:
  GatedProvider(std::unique_ptr<Provider> inner, std::shared_ptr<Gate> gate, Clock& clock)
      : inner_(std::move(inner)), gate_(std::move(gate)), clock_(clock) {}

  [[nodiscard]] std::string name() const override { return inner_->name(); }
  [[nodiscard]] std::string model() const override { return inner_->model(); }
  Result<Reply> complete(const Request& request) override;

 private:
  std::unique_ptr<Provider> inner_;
  std::shared_ptr<Gate> gate_;
  Clock& clock_;
};

}  // namespace cuco::llm
