// SPDX-License-Identifier: Apache-2.0
#include "llm/guards/breaker.h"

#include <algorithm>

#include <fmt/format.h>

#include "llm/stoppable_job.h"

namespace cuco::llm {

Nanoseconds BreakerProvider::admit() {
  const std::lock_guard lock(mutex_);
  if (failures_ < policy_.failures) return Nanoseconds{0};
  const auto now = clock_.now();
  if (now < closed_until_) return closed_until_ - now;
  // One probe at a time: the others wait for what becomes of it.
  closed_until_ = now + policy_.pause;
  return Nanoseconds{0};
}

void BreakerProvider::remember(const Result<Reply>& reply) {
  const std::lock_guard lock(mutex_);
  const bool failed = !reply && (reply.error().kind() == ErrorKind::Unavailable ||
                                 reply.error().kind() == ErrorKind::Timeout);
  if (!failed) {
    failures_ = 0;
    return;
  }
  last_problem_ = reply.error().message();
  if (++failures_ >= policy_.failures) closed_until_ = clock_.now() + policy_.pause;
}

Result<Reply> BreakerProvider::complete(const Request& request) {
  const auto end = clock_.now() + request.deadline;
  for (auto wait = admit(); wait > Nanoseconds{0}; wait = admit()) {
    if (!policy_.waits || clock_.now() + wait >= end) {
      const std::lock_guard lock(mutex_);
      return Error{
          ErrorKind::Unavailable,
          fmt::format("{}:{} failed {} times in a row and is left alone for {} s: {}", name(),
                      model(), failures_, std::chrono::ceil<std::chrono::seconds>(wait).count(),
                      last_problem_)};
    }
    CUCO_TRY(sleep_stoppable(clock_, wait, request.stopped));
  }
  if (request.stopped && request.stopped()) return stopped_error();
  auto reply = inner_->complete(request);
  // A user who stops says nothing about the service.
  if (!request.stopped || !request.stopped()) remember(reply);
  return reply;
}

}  // namespace cuco::llm
