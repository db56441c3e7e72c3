// SPDX-License-Identifier: Apache-2.0
/// \file
/// Content identity: SHA-256, because what is hashed may have been written by an adversary.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace cuco {

using Digest = std::array<std::uint8_t, 32>;

[[nodiscard]] Digest sha256(std::span<const std::byte> bytes);
[[nodiscard]] Digest sha256(std::string_view text);

/// Lower-case hexadecimal, all 64 digits.
[[nodiscard]] std::string to_hex(const Digest& digest);

/// The first 16 digits of the hexadecimal SHA-256: a name for a cache entry or a code version.
[[nodiscard]] std::string content_id(std::string_view text);

}  // namespace cuco
