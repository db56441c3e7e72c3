// SPDX-License-Identifier: Apache-2.0
/// \file
/// A model behind an OpenAI-compatible endpoint. The talking is done by the helper program
/// cuco-http, which gets the key on its standard input; no key is in an argument, an environment or
/// a file.
#pragma once

#include <chrono>
#include <string>

#include "base/clock.h"
#include "llm/provider.h"

namespace cuco::llm {

struct Endpoint {
  std::string url = "https://api.openai.com/v1";  ///< Up to but without "/chat/completions".
  std::string model;
  std::string key;  ///< May be empty: local servers want none.
};

struct RetryPolicy {
  int attempts = 5;
  std::chrono::milliseconds first_pause{1000};  ///< Doubled each time, unless the server says more.
  std::chrono::milliseconds longest_pause{60'000};
};

class EndpointProvider final : public Provider {
 public:
  /// `clock` must outlive it; pauses between attempts are slept on it.
  EndpointProvider(Endpoint endpoint, RetryPolicy policy, Clock& clock)
      : endpoint_(std::move(endpoint)), policy_(policy), clock_(clock) {}

  [[nodiscard]] std::string name() const override { return "openai"; }
  [[nodiscard]] std::string model() const override { return endpoint_.model; }
  Result<Reply> complete(const Request& request) override;

 private:
  struct Attempt;
  [[nodiscard]] Result<Attempt> attempt(const Request& request,
                                        std::chrono::milliseconds deadline) const;
  [[nodiscard]] std::string redacted(std::string text) const;

  Endpoint endpoint_;
  RetryPolicy policy_;
  Clock& clock_;
};

}  // namespace cuco::llm
