// SPDX-License-Identifier: Apache-2.0
/// \file
/// Small questions about text.
#pragma once

#include <concepts>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cuco {

[[nodiscard]] std::string_view trim(std::string_view text);
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);
/// The parts are views: of a temporary they would be views of nothing.
template <std::same_as<std::string> Temporary>
std::vector<std::string_view> split(Temporary&& text, char separator) = delete;
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

/// Returns the candidate nearest to `word` if it is near enough to be what was meant.
[[nodiscard]] std::optional<std::string> nearest(std::string_view word,
                                                 std::span<const std::string> candidates);

/// Line (from 1) of the first byte that is not part of valid UTF-8 or is a control character other
/// than tab and line ends; nothing if all is text. Parsers of third parties trip over such bytes.
[[nodiscard]] std::optional<unsigned> line_of_bad_byte(std::string_view text);

/// "12 B", "1.5 KiB", "3.2 GiB".
[[nodiscard]] std::string human_bytes(double bytes);

/// A duration with three significant digits: "31.4 us", "1.20 ms", "2.50 s".
[[nodiscard]] std::string human_seconds(double seconds);

}  // namespace cuco
