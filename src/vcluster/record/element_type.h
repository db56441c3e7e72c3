// SPDX-License-Identifier: Apache-2.0
/// \file
/// What the bytes are that a program brings back: numbers of a floating-point type, which another
/// order of additions rounds otherwise, or anything else, which must be the same bit by bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "vcluster/record/copy_log.h"

namespace cuco::vcluster {

enum class ElementType : std::uint8_t { Exact, Float16, Bfloat16, Float32, Float64 };

using ByteSpan = std::span<const std::byte>;

/// "fp32", as workload.toml spells it.
[[nodiscard]] std::string_view name_of(ElementType type);
[[nodiscard]] std::optional<ElementType> find_element_type(std::string_view name);
[[nodiscard]] std::size_t size_of(ElementType type);     ///< Exact: 1.
[[nodiscard]] unsigned stored_digits(ElementType type);  ///< Bits of the mantissa; not of Exact.
/// Half a unit in the last place of 1.
[[nodiscard]] double unit_roundoff(ElementType type);
[[nodiscard]] double element(ByteSpan bytes, ElementType type, std::size_t index);
/// An element that is a number of a usual size or zero, an infinity or the usual NaN. What it is
/// not: a small integer, whose bits make a denormal number, a pointer or a hash.
[[nodiscard]] bool looks_like(ElementType type, ByteSpan bytes, std::size_t index);

/// Such a number, but no zero, infinity or NaN.
[[nodiscard]] bool is_plain_number(ElementType type, ByteSpan bytes, std::size_t index);

/// A type, and how it is known.
struct KnownType {
  ElementType type = ElementType::Exact;
  bool is_mixed = false;  ///< Only elements that look like it are of that type.
  std::string_view why;   ///< "as it was written"
};

/// By what wrote the memory; nothing if that does not say it.
[[nodiscard]] std::optional<KnownType> type_as_written(std::size_t bytes, WrittenAs written);
/// By what the bytes look like. Only types that the program writes somewhere come into question:
/// what is only moved has no rounding errors.
[[nodiscard]] KnownType type_by_contents(ByteSpan bytes, WrittenAs candidates);

}  // namespace cuco::vcluster
