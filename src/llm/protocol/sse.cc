// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/sse.h"

namespace cuco::llm {
namespace {
constexpr std::size_t kMaxLine = std::size_t{16} << 20U;
}

Result<void> SseParser::feed(std::string_view bytes) {
  for (const char c : bytes) {
    const bool second_half = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') {
      CUCO_TRY(take_line(line_));
      line_.clear();
      continue;
    }
    if (line_.size() + data_.size() >= kMaxLine) {
      return Error{ErrorKind::Protocol, "event stream: line longer than 16 MiB"};
    }
    line_ += c;
  }
  return {};
}

Result<void> SseParser::finish() {
  if (!line_.empty()) CUCO_TRY(take_line(line_));
  line_.clear();
  return dispatch();
}

Result<void> SseParser::take_line(std::string_view line) {
  if (line.empty()) return dispatch();
  const auto colon = line.find(':');
  const auto field = line.substr(0, colon);
  auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "event") event_ = value;
  if (field != "data") return {};  // a comment, or a field that nobody here needs
  if (has_data_) data_ += '\n';
  data_ += value;
  has_data_ = true;
  return {};
}

Result<void> SseParser::dispatch() {
  const auto event = std::move(event_);
  event_.clear();
  if (!has_data_) return {};
  has_data_ = false;
  const auto data = std::move(data_);
  data_.clear();
  return sink_(event, data);
}

}  // namespace cuco::llm
