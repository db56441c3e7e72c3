// SPDX-License-Identifier: Apache-2.0
#include "toolchain/printable.h"

#include <cstdint>

namespace cuco::toolchain {
namespace {

/// The length of the UTF-8 sequence at the front; 0: there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0x80   ? 1
                             : byte(0) < 0xC2 ? 0
                             : byte(0) < 0xE0 ? 2
                             : byte(0) < 0xF0 ? 3
                             : byte(0) < 0xF5 ? 4
                                              : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const auto second = static_cast<unsigned char>(length == 2 ? text[1] : '\0');
    const bool plain = length > 0 && (first >= 0x20 || first == '\n' || first == '\t');
    // C1 controls are two bytes in UTF-8: U+0080 to U+009F.
    const bool control = !plain || first == 0x7F || (first == 0xC2 && second < 0xA0);
    result += control ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

}  // namespace cuco::toolchain
