// SPDX-License-Identifier: Apache-2.0
/// \file
/// An answer as it arrives: what every protocol makes of a service's events or of its whole body.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "llm/provider.h"

namespace cuco::llm {

/// Gathers one answer. Tolerates what servers do (nulls, unknown fields, empty chunks). An error
/// object of the service is Unavailable if a retry may help and Protocol otherwise.
class Answer {
 public:
  virtual ~Answer() = default;

  /// One event of a stream: its name where the stream has names, and its data.
  [[nodiscard]] virtual Result<void> add_event(std::string_view name, std::string_view data) = 0;

  /// A whole answer of a service that does not stream, or its error.
  [[nodiscard]] virtual Result<void> set_whole(std::string_view json) = 0;

  /// True when the service said that the answer is complete. Otherwise the stream broke off.
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] const Usage& usage() const { return usage_; }
  /// The service's own word for why the answer ends: "stop", "end_turn", "MAX_TOKENS" …
  [[nodiscard]] const std::string& finish_reason() const { return finish_reason_; }
  /// The model had more to say.
  [[nodiscard]] bool cut_off() const;
  /// The model that the service says it used; empty if it does not say.
  [[nodiscard]] const std::string& model() const { return model_; }

 protected:
  std::string text_;
  Usage usage_;
  std::string finish_reason_;
  std::string model_;
  bool complete_ = false;
};

}  // namespace cuco::llm
