// SPDX-License-Identifier: Apache-2.0
#include "llm/guards/gate.h"

#include <algorithm>

namespace cuco::llm {
namespace {
constexpr auto kMinute = std::chrono::minutes(1);
constexpr auto kLook = std::chrono::milliseconds(50);
}  // namespace

bool Gate::try_enter() {
  const std::lock_guard lock(mutex_);
  const auto now = clock_.now();
  while (!starts_.empty() && now - starts_.front() >= kMinute)
    starts_.pop_front();
  const bool full = in_flight_ > 0 && inside_ >= in_flight_;
  const bool spent = per_minute_ > 0 && starts_.size() >= static_cast<std::size_t>(per_minute_);
  if (full || spent) return false;
  ++inside_;
  starts_.push_back(now);
  return true;
}

void Gate::leave() {
  const std::lock_guard lock(mutex_);
  --inside_;
}

Result<Gate::Pass> Gate::enter(Nanoseconds patience, const Stopped& stopped) {
  const auto end = clock_.now() + patience;
  while (!try_enter()) {
    if (clock_.now() >= end) {
      return Error{ErrorKind::Unavailable,
                   "too many calls at once or in a minute: raise in_flight or per_minute of the "
                   "service in models.toml if it allows more"};
    }
    CUCO_TRY(sleep_stoppable(clock_, kLook, stopped));
  }
  return Pass(*this);
}

std::shared_ptr<Gate> Gates::of(const ServiceFacts& service) {
  auto& gate = gates_[service.name];
  if (!gate) gate = std::make_shared<Gate>(service.in_flight, service.per_minute, clock_);
  return gate;
}

Result<Reply> GatedProvider::complete(const Request& request) {
  const auto start = clock_.now();
  CUCO_TRY_ASSIGN(const Gate::Pass pass, gate_->enter(request.deadline, request.stopped));
  Request rest = request;
  const auto left = request.deadline - (clock_.now() - start);
  rest.deadline = std::max(std::chrono::seconds(1), std::chrono::ceil<std::chrono::seconds>(left));
  auto reply = inner_->complete(rest);
  if (reply) reply->seconds = std::chrono::duration<double>(clock_.now() - start).count();
  return reply;
}

}  // namespace cuco::llm
