// SPDX-License-Identifier: Apache-2.0
/// \file
/// Provider: answers prompts. A hosted model, a local one, a script or a recording.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace cuco::llm {

struct Request {
  std::string system;  ///< The same for the whole run.
  std::string prompt;
  double temperature = 0;
  int max_tokens = 16384;
  std::uint64_t seed = 0;  ///< Passed on if the endpoint accepts one.
  std::chrono::seconds deadline{300};
};

struct Reply {
  std::string text;
  int prompt_tokens = 0;
  int answer_tokens = 0;
  double seconds = 0;
  bool operator==(const Reply&) const = default;
};

class Provider {
 public:
  virtual ~Provider() = default;

  /// "openai", "command", …
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::string model() const = 0;

  /// Unavailable: busy or unreachable, after all retries. Timeout: the deadline passed. Protocol:
  /// the other side answered, but not with an answer. No message ever contains a key.
  [[nodiscard]] virtual Result<Reply> complete(const Request& request) = 0;
};

}  // namespace cuco::llm
