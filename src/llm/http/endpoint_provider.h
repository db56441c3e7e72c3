// SPDX-License-Identifier: Apache-2.0
/// \file
/// A model behind an HTTP service, whatever its protocol. The talking is done by the helper program
/// cuco-http, which gets the key on its standard input; no key is in an argument, an environment or
/// a file.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "llm/http/http_request.h"
#include "llm/http/retry.h"
#include "llm/provider.h"

namespace cuco::llm {

class EndpointProvider final : public Provider {
 public:
  /// `clock` must outlive it; pauses between attempts are slept on it.
  EndpointProvider(Endpoint endpoint, RetryPolicy policy, Clock& clock);

  [[nodiscard]] std::string name() const override { return endpoint_.service.name; }
  [[nodiscard]] std::string model() const override { return endpoint_.model; }

  /// Repeats attempts that broke off, stalled or were put off, within the request's deadline. What
  /// a broken attempt had said is thrown away: an answer is one attempt's.
  Result<Reply> complete(const Request& request) override;

 private:
  struct Attempt;
  struct Progress;
  [[nodiscard]] Result<Attempt> attempt(const Request& request,
                                        std::chrono::milliseconds deadline) const;
  [[nodiscard]] Reply finished(Attempt attempt, const Progress& progress) const;
  [[nodiscard]] Error gave_up(const Progress& progress, const Request& request) const;

  Endpoint endpoint_;
  RetryPolicy policy_;
  Clock& clock_;
  Scrubber scrub_;
};

}  // namespace cuco::llm
