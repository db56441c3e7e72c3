// SPDX-License-Identifier: Apache-2.0
/// \file
/// Values as bytes, for processes of one build on one machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "nccl_core/types.h"

namespace cuco::loopback {

class Writer {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  Writer& put(const T& value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Writer& put(std::string_view text) {
    put(text.size());
    bytes_ += text;
    return *this;
  }
  Writer& put(const std::string& text) { return put(std::string_view(text)); }
  template <typename T>
  Writer& put(const std::vector<T>& values) {
    put(values.size());
    for (const T& value : values)
      put(value);
    return *this;
  }
  Writer& put(const nccl_core::Check& check) {
    put(check.has_value());
    if (check) put(check->code).put(check->message);
    return *this;
  }

  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

/// Reads in the order of writing. What is missing reads as zero, and is remembered.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  Reader& get(T* value) {
    if (bytes_.size() < sizeof *value) {
      is_whole_ = false;
      bytes_ = {};
      *value = T{};
      return *this;
    }
    bytes_.copy(reinterpret_cast<char*>(value), sizeof *value);
    bytes_.remove_prefix(sizeof *value);
    return *this;
  }
  Reader& get(std::string* text) {
    const std::size_t size = length(1);
    *text = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return *this;
  }
  template <typename T>
  Reader& get(std::vector<T>* values) {
    values->resize(length(1));
    for (T& value : *values)
      get(&value);
    return *this;
  }
  Reader& get(nccl_core::Check* check) {
    check->reset();
    if (!get<bool>()) return *this;
    check->emplace();
    return get(&(*check)->code).get(&(*check)->message);
  }
  template <typename T>
  [[nodiscard]] T get() {
    T value{};
    get(&value);
    return value;
  }

  [[nodiscard]] bool is_whole() const { return is_whole_; }

 private:
  /// Of what follows: never more than there are bytes for.
  std::size_t length(std::size_t least) {
    const auto size = get<std::size_t>();
    if (size <= bytes_.size() / least) return size;
    is_whole_ = false;
    bytes_ = {};
    return 0;
  }

  std::string_view bytes_;
  bool is_whole_ = true;
};

}  // namespace cuco::loopback
