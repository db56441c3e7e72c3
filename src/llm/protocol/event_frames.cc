// SPDX-License-Identifier: Apache-2.0
#include "llm/protocol/event_frames.h"

#include <array>
#include <optional>

namespace cuco::llm {
namespace {

constexpr std::size_t kPrelude = 12;
constexpr std::size_t kChecksum = 4;
constexpr std::size_t kMostFrame = std::size_t{16} << 20U;
constexpr std::uint8_t kString = 7;

std::uint32_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value = value << 8U | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

/// Sizes of the values of other types than strings; nothing for those that carry their own.
std::optional<std::size_t> fixed_size(std::uint8_t type) {
  constexpr std::array<std::size_t, 6> kSizes = {0, 0, 1, 2, 4, 8};  // true, false, 8 to 64 bits
  if (type < kSizes.size()) return kSizes.at(type);
  if (type == 8) return 8;   // a time
  if (type == 9) return 16;  // a UUID
  return std::nullopt;
}

struct Names {
  std::string_view event, exception, error_code;
};

bool read_headers(std::string_view bytes, Names& names) {
  while (!bytes.empty()) {
    const std::size_t name_size = static_cast<std::uint8_t>(bytes[0]);
    if (bytes.size() < name_size + 2) return false;
    const auto name = bytes.substr(1, name_size);
    const auto type = static_cast<std::uint8_t>(bytes[1 + name_size]);
    bytes.remove_prefix(name_size + 2);
    auto size = fixed_size(type);
    if (!size) {
      if (type > kString || bytes.size() < 2) return false;
      size = number_at(bytes, 0, 2);
      bytes.remove_prefix(2);
    }
    if (bytes.size() < *size) return false;
    const auto value = bytes.substr(0, *size);
    bytes.remove_prefix(*size);
    if (type != kString) continue;
    if (name == ":event-type") names.event = value;
    if (name == ":exception-type") names.exception = value;
    if (name == ":error-code") names.error_code = value;
  }
  return true;
}

Error damaged(std::string_view what) {
  return {ErrorKind::Protocol, "event stream: " + std::string(what)};
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
  std::uint32_t crc = ~0U;
  for (const char c : bytes) {
    crc ^= static_cast<std::uint8_t>(c);
    for (int i = 0; i < 8; ++i)
      crc = crc >> 1U ^ ((crc & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

Result<void> EventFrames::feed(std::string_view bytes) {
  buffer_ += bytes;
  std::size_t used = 0;
  while (buffer_.size() - used >= kPrelude) {
    const std::string_view rest = std::string_view(buffer_).substr(used);
    const std::size_t total = number_at(rest, 0, 4);
    if (number_at(rest, 8, 4) != crc32(rest.substr(0, 8))) return damaged("damaged prelude");
    if (total < kPrelude + kChecksum || total > kMostFrame) return damaged("absurd frame size");
    if (rest.size() < total) break;
    CUCO_TRY(take_frame(rest.substr(0, total)));
    used += total;
  }
  buffer_.erase(0, used);
  return {};
}

Result<void> EventFrames::take_frame(std::string_view frame) {
  const std::size_t checked = frame.size() - kChecksum;
  if (number_at(frame, checked, 4) != crc32(frame.substr(0, checked)))
    return damaged("damaged frame");
  const std::size_t header_size = number_at(frame, 4, 4);
  if (header_size > checked - kPrelude) return damaged("absurd header size");
  Names names;
  if (!read_headers(frame.substr(kPrelude, header_size), names)) return damaged("damaged headers");
  const auto payload = frame.substr(kPrelude + header_size, checked - kPrelude - header_size);
  if (!names.exception.empty()) {
    std::string name(names.exception);
    if (!name.ends_with("Exception")) name += "Exception";
    return sink_(name, payload);
  }
  if (!names.error_code.empty()) return damaged("error " + std::string(names.error_code));
  return sink_(names.event, payload);
}

}  // namespace cuco::llm
