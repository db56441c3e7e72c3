// SPDX-License-Identifier: Apache-2.0
/// \file
/// Provider: answers prompts. A hosted model, a local one, a script, a person or a recording.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/result.h"

namespace cuco::llm {

/// A JSON schema that the answer must have, for services that can enforce one. Others are only told
/// in the prompt: read answers with read_structured().
struct AnswerSchema {
  std::string name;  ///< Letters, digits and underscores.
  std::string json;  ///< The schema's text.
};

/// Which call of a run this is. Recordings and mailboxes are kept by it; the answer does not depend
/// on it.
struct CallSite {
  std::string run;    ///< Empty outside runs.
  int decision = -1;  ///< The decision, which is the number of the candidate; -1: none.
  std::string role;   ///< "propose", …
  int turn = 0;       ///< How often this role was asked before for this decision.
  bool operator==(const CallSite&) const = default;
};

struct Request {
  std::string system;  ///< The same for the whole run.
  std::string prompt;
  std::size_t shared_prefix = 0;      ///< Bytes of the prompt that other prompts of the run share.
  std::optional<double> temperature;  ///< Left out where the model takes none.
  int max_tokens = 16384;
  std::string effort;  ///< "low", "medium", "high" …; empty: the model's default.
  std::optional<AnswerSchema> schema;
  std::uint64_t seed = 0;              ///< Passed on if the service accepts one.
  std::chrono::seconds deadline{300};  ///< For all attempts together.
  CallSite site;
  std::function<bool()> stopped;  ///< Asked now and then: true gives the call up as Unavailable.
};

/// Tokens in one meaning for all services, whatever each of them counts separately.
struct Usage {
  int prompt = 0;         ///< All that was read, cached or not.
  int answer = 0;         ///< All that was written, reasoning included.
  int cached = 0;         ///< Of the prompt: read from the service's cache.
  int cache_written = 0;  ///< Of the prompt: written to it.
  int reasoning = 0;      ///< Of the answer: not shown.
  bool operator==(const Usage&) const = default;
};

struct Reply {
  std::string text;
  Usage usage;
  double seconds = 0;             ///< From the question to the answer, pauses and repeats included.
  double first_byte_seconds = 0;  ///< Of the attempt that succeeded.
  std::string answered_by;        ///< "PROVIDER:MODEL" where that is not who was asked.
  bool streamed = false;
  bool cut_off = false;  ///< The model had more to say: max_tokens was reached.
  int attempts = 1;
  Usage lost;           ///< What attempts that broke off had reported; paid for, not part of usage.
  double dollars = -1;  ///< By the catalogue's prices, lost included; negative: unknown.
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
