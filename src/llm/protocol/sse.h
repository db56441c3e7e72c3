// SPDX-License-Identifier: Apache-2.0
/// \file
/// Server-sent events (WHATWG HTML, 9.2), as far as model services use them: the name and the
/// `data` of each event.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cuco::llm {

/// Takes bytes as they come, cut anywhere.
class SseParser {
 public:
  using Sink = std::function<Result<void>(std::string_view event, std::string_view data)>;

  explicit SseParser(Sink sink) : sink_(std::move(sink)) {}

  /// Fails with what the sink failed with, or Protocol if a line is absurdly long.
  [[nodiscard]] Result<void> feed(std::string_view bytes);

  /// The stream has ended: an event without its blank line still counts, as servers forget it.
  [[nodiscard]] Result<void> finish();

 private:
  Result<void> take_line(std::string_view line);
  Result<void> dispatch();

  Sink sink_;
  std::string line_;
  std::string event_;
  std::string data_;
  bool has_data_ = false;
  bool after_return_ = false;  ///< The last byte was '\r': a '\n' now belongs to it.
};

}  // namespace cuco::llm
