// SPDX-License-Identifier: Apache-2.0
/// \file
/// The chat-completions protocol as most endpoints speak it: what is sent, and what comes back,
/// streamed or whole.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/provider.h"

namespace cuco::llm {

/// The request's body, streaming.
[[nodiscard]] std::string chat_body(const Request& request, std::string_view model);

/// Gathers a streamed answer. Tolerates what servers do: null contents, chunks without choices,
/// usage in a chunk of its own, unknown fields.
class ChatAnswer {
 public:
  /// One event's data: a JSON chunk or "[DONE]". An error object of the server is a Protocol error.
  [[nodiscard]] Result<void> add_event(std::string_view data);

  /// A whole answer of a server that does not stream.
  [[nodiscard]] Result<void> set_whole(std::string_view json);

  /// True when the server said that the answer is complete. Otherwise the stream broke off.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const Reply& reply() const { return reply_; }
  [[nodiscard]] const std::string& finish_reason() const { return finish_reason_; }

 private:
  Reply reply_;
  std::string finish_reason_;
  bool complete_ = false;
};

}  // namespace cuco::llm
