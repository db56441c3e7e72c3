// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <cstddef>

#include <openssl/sha.h>

namespace cuco {

Digest sha256(std::span<const std::byte> bytes) {
  Digest digest{};
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), digest.data());
  return digest;
}

Digest sha256(std::string_view text) {
  return sha256(std::as_bytes(std::span(text)));
}

std::string to_hex(const Digest& digest) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(2 * digest.size());
  for (const std::uint8_t byte : digest) {
    text += kDigits[byte >> 4U];
    text += kDigits[byte & 15U];
  }
  return text;
}

std::string content_id(std::string_view text) {
  return to_hex(sha256(text)).substr(0, 16);
}

}  // namespace cuco
