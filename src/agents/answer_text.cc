// SPDX-License-Identifier: Apache-2.0
#include "agents/answer_text.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::agents {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::array<std::string_view, 4> kThoughts = {"think", "thinking", "thought", "reasoning"};

/// Whether nothing else stands before it, or behind it, on its line: in the midst of a line it is
/// talked about.
bool begins_or_ends_line(std::string_view text, std::size_t at, std::size_t size) {
  const auto line = text.rfind('\n', at);
  const auto begin = line == std::string_view::npos ? 0 : line + 1;
  const auto before = text.substr(begin, at - begin);
  const auto behind = text.substr(at + size, text.find('\n', at + size) - (at + size));
  return trim(before).empty() || trim(behind).empty();
}

/// Where the thoughts of that name end, if any do.
std::optional<std::size_t> end_of_thoughts(std::string_view text, std::string_view name) {
  const std::string close = fmt::format("</{}>", name);
  // Where they begin with the text, they end with the first mark: what follows is the answer's.
  if (text.starts_with(fmt::format("<{}>", name))) {
    const auto at = text.find(close);
    if (at == std::string_view::npos) return std::nullopt;
    return at + close.size();
  }
  // Some services leave the mark out that opens them.
  std::optional<std::size_t> end;
  for (auto at = text.find(close); at != std::string_view::npos; at = text.find(close, at + 1)) {
    if (begins_or_ends_line(text, at, close.size())) end = at + close.size();
  }
  return end;
}

}  // namespace

Result<std::string> plain_answer(std::string_view text) {
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text = trim(text);
  for (const std::string_view name : kThoughts) {
    if (const auto end = end_of_thoughts(text, name)) {
      text.remove_prefix(*end);
    } else if (text.starts_with(fmt::format("<{}>", name))) {
      return Error{ErrorKind::InvalidInput,
                   "the answer ends in the middle of its thoughts: it was cut off"};
    }
  }
  std::string plain;
  plain.reserve(text.size() + 1);
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\r' || at + 1 == text.size() || text[at + 1] != '\n') plain += text[at];
  }
  return plain + '\n';
}

std::string shortened(std::string_view text, std::size_t most) {
  if (text.size() <= most) return std::string(text);
  // A byte 10xxxxxx continues a character.
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80U)
    --most;
  return std::string(text.substr(0, most)) + "…";
}

std::optional<int> line_that_reads_otherwise(std::string_view program) {
  // U+202A to U+202E, and U+2066 to U+2069.
  constexpr std::array<std::string_view, 9> kTurns = {
      "\xE2\x80\xAA", "\xE2\x80\xAB", "\xE2\x80\xAC", "\xE2\x80\xAD", "\xE2\x80\xAE",
      "\xE2\x81\xA6", "\xE2\x81\xA7", "\xE2\x81\xA8", "\xE2\x81\xA9"};
  std::size_t first = std::string_view::npos;
  for (const std::string_view turn : kTurns)
    first = std::min(first, program.find(turn));
  if (first == std::string_view::npos) return std::nullopt;
  return 1 + static_cast<int>(std::ranges::count(program.substr(0, first), '\n'));
}

}  // namespace cuco::agents
