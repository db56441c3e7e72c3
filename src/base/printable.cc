// SPDX-License-Identifier: Apache-2.0
#include "base/printable.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace cuco {
namespace {

unsigned char byte_at(std::string_view text, std::size_t i) {
  return static_cast<unsigned char>(text[i]);
}

/// The length of the UTF-8 sequence at the front; 0: there is none.
std::size_t sequence_length(std::string_view text) {
  const unsigned char first = byte_at(text, 0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0U) != 0x80) return 0;
  }
  return length;
}

/// Not for a terminal: C0 and C1 controls, and characters that change the direction of text.
bool is_control(std::string_view sequence) {
  constexpr std::array<std::string_view, 9> kDirections = {
      "\u202a", "\u202b", "\u202c", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"};
  const unsigned char first = byte_at(sequence, 0);
  if (sequence.size() == 1)
    return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
  if (sequence.size() == 2) return first == 0xC2 && byte_at(sequence, 1) < 0xA0;
  return std::ranges::find(kDirections, sequence) != kDirections.end();
}

/// The code point of a whole sequence; the byte itself where there is none.
unsigned code_of(std::string_view sequence) {
  if (sequence.size() == 1) return byte_at(sequence, 0);
  unsigned code = byte_at(sequence, 0) & (0xFFU >> (sequence.size() + 1));
  for (std::size_t i = 1; i < sequence.size(); ++i)
    code = code << 6U | (byte_at(sequence, i) & 0x3FU);
  return code;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    const std::string_view front = text.substr(0, std::max<std::size_t>(length, 1));
    if (length == 0 || is_control(front)) {
      result += fmt::format("\\u{:04x}", code_of(front));
    } else {
      result += front;
    }
    text.remove_prefix(front.size());
  }
  return result;
}

}  // namespace cuco
