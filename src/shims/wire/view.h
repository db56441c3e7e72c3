// SPDX-License-Identifier: Apache-2.0
/// \file
/// Reading a message that may have been forged: every access is bounds-checked and copies out.
#pragma once

#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cuco::wire {

using Bytes = std::span<const std::byte>;

/// The bytes of a trivially copyable value.
template <typename T>
[[nodiscard]] Bytes bytes_of(const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::as_bytes(std::span<const T, 1>(&value, 1));
}

/// Copies the struct at the front of `payload`; nullopt if the payload is shorter.
template <typename T>
[[nodiscard]] std::optional<T> read_front(Bytes payload) {
  static_assert(std::is_trivially_copyable_v<T>);
  if constexpr (std::is_empty_v<T>) {
    return T{};
  } else {
    if (payload.size() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, payload.data(), sizeof(T));
    return value;
  }
}

/// Bytes T takes in a payload: an empty struct takes none.
template <typename T>
inline constexpr std::size_t kWireSize = std::is_empty_v<T> ? 0 : sizeof(T);

/// Copies `count` elements from the front of `tail`; nullopt if they are not all there.
template <typename T>
[[nodiscard]] std::optional<std::vector<T>> read_array(Bytes tail, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (count > tail.size() / sizeof(T)) return std::nullopt;
  std::vector<T> values(count);
  if (count != 0) std::memcpy(values.data(), tail.data(), count * sizeof(T));
  return values;
}

[[nodiscard]] inline std::string_view text_of(Bytes tail) {
  return {reinterpret_cast<const char*>(tail.data()), tail.size()};
}

[[nodiscard]] inline Bytes bytes_of_text(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

/// Appends a value's bytes to a message under construction.
template <typename T>
void append(std::vector<std::byte>& out, const T& value) {
  const std::size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(out.data() + at, &value, sizeof(T));
}

}  // namespace cuco::wire
