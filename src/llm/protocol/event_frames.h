// SPDX-License-Identifier: Apache-2.0
/// \file
/// Amazon's event stream (application/vnd.amazon.eventstream): frames with checksums, string
/// headers and a payload.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cuco::llm {

/// CRC-32 as in zlib.
[[nodiscard]] std::uint32_t crc32(std::string_view bytes);

/// Takes bytes as they come, cut anywhere.
class EventFrames {
 public:
  /// The event's or the exception's name, and the payload.
  using Sink = std::function<Result<void>(std::string_view name, std::string_view payload)>;

  explicit EventFrames(Sink sink) : sink_(std::move(sink)) {}

  /// Fails with what the sink failed with, or Protocol if the bytes are no such stream.
  [[nodiscard]] Result<void> feed(std::string_view bytes);

  /// Bytes of a frame that did not arrive whole.
  [[nodiscard]] std::size_t left_over() const { return buffer_.size(); }

 private:
  Result<void> take_frame(std::string_view frame);

  Sink sink_;
  std::string buffer_;
};

}  // namespace cuco::llm
