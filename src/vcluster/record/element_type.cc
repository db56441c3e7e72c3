// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/element_type.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

namespace cuco::vcluster {
namespace {

struct Format {
  ElementType type;
  std::string_view name;
  unsigned bytes;
  unsigned exponent_bits;
  unsigned mantissa_bits;  ///< As stored.
  WrittenAs written;
};

constexpr std::array<Format, 4> kFormats{{
    {ElementType::Float16, "fp16", 2, 5, 10, kAsFloat16},
    {ElementType::Bfloat16, "bf16", 2, 8, 7, kAsBfloat16},
    {ElementType::Float32, "fp32", 4, 8, 23, kAsFloat32},
    {ElementType::Float64, "fp64", 8, 11, 52, kAsFloat64},
}};

constexpr std::string_view kExact = "exact";

const Format& format_of(ElementType type) {
  return kFormats[static_cast<std::size_t>(type) - 1];
}

struct Parts {
  bool negative = false;
  std::uint64_t exponent = 0;
  std::uint64_t mantissa = 0;
};

Parts parts_of(const Format& format, ByteSpan bytes, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * format.bytes, format.bytes);
  return {(bits >> (format.exponent_bits + format.mantissa_bits) & 1U) != 0,
          bits >> format.mantissa_bits & ((1ULL << format.exponent_bits) - 1),
          bits & ((1ULL << format.mantissa_bits) - 1)};
}

bool is_zero(const Parts& parts) {
  return parts.exponent == 0 && parts.mantissa == 0;
}

bool is_usual(const Format& format, const Parts& parts) {
  if (is_zero(parts)) return true;
  const std::uint64_t most = (1ULL << format.exponent_bits) - 1;
  const std::uint64_t quiet = 1ULL << (format.mantissa_bits - 1);
  const std::uint64_t ones = (1ULL << format.mantissa_bits) - 1;
  if (parts.exponent == most) {
    return parts.mantissa == 0 || parts.mantissa == quiet ||
           (!parts.negative && parts.mantissa == ones);
  }
  constexpr int kSmallest = -60;
  constexpr int kLargest = 40;
  const int exponent = static_cast<int>(parts.exponent) - static_cast<int>(most / 2);
  return parts.exponent != 0 && exponent >= kSmallest && exponent <= kLargest;
}

/// Do the bytes look like an array of it, and not like halves of something wider?
bool fits(const Format& format, ByteSpan bytes) {
  if (bytes.size() % format.bytes != 0) return false;
  const std::size_t count = bytes.size() / format.bytes;
  std::size_t zeros = 0;
  std::size_t odd_places_taken = 0;
  std::size_t even_places_taken = 0;
  std::size_t unusual = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Parts parts = parts_of(format, bytes, i);
    if (is_zero(parts)) {
      ++zeros;
      continue;
    }
    ++(i % 2 == 0 ? even_places_taken : odd_places_taken);
    if (!is_usual(format, parts)) ++unusual;
  }
  const std::size_t taken = count - zeros;
  if (taken == 0 || unusual * 256 > taken) return false;
  // The lower half of a number with few digits is zero.
  return even_places_taken * 8 >= odd_places_taken;
}

}  // namespace

std::string_view name_of(ElementType type) {
  return type == ElementType::Exact ? kExact : format_of(type).name;
}

std::optional<ElementType> find_element_type(std::string_view name) {
  if (name == kExact) return ElementType::Exact;
  for (const Format& format : kFormats) {
    if (format.name == name) return format.type;
  }
  return std::nullopt;
}

std::size_t size_of(ElementType type) {
  return type == ElementType::Exact ? 1 : format_of(type).bytes;
}

unsigned stored_digits(ElementType type) {
  return format_of(type).mantissa_bits;
}

double unit_roundoff(ElementType type) {
  if (type == ElementType::Exact) return 0;
  return std::ldexp(1.0, -static_cast<int>(format_of(type).mantissa_bits) - 1);
}

double element(ByteSpan bytes, ElementType type, std::size_t index) {
  if (type == ElementType::Exact) return std::to_integer<int>(bytes[index]);
  const Format& format = format_of(type);
  const Parts parts = parts_of(format, bytes, index);
  const double sign = parts.negative ? -1 : 1;
  const auto most = static_cast<int>((1U << format.exponent_bits) - 1);
  if (static_cast<int>(parts.exponent) == most) {
    return parts.mantissa == 0 ? sign * HUGE_VAL : std::nan("");
  }
  const auto digits = static_cast<double>(
      parts.exponent == 0 ? parts.mantissa : parts.mantissa | 1ULL << format.mantissa_bits);
  const int exponent = std::max(static_cast<int>(parts.exponent), 1) - most / 2;
  return sign * std::ldexp(digits, exponent - static_cast<int>(format.mantissa_bits));
}

bool looks_like(ElementType type, ByteSpan bytes, std::size_t index) {
  if (type == ElementType::Exact) return false;
  const Format& format = format_of(type);
  return is_usual(format, parts_of(format, bytes, index));
}

bool is_plain_number(ElementType type, ByteSpan bytes, std::size_t index) {
  const Format& format = format_of(type);
  const Parts parts = parts_of(format, bytes, index);
  return parts.exponent != (1ULL << format.exponent_bits) - 1 && !is_zero(parts) &&
         is_usual(format, parts);
}

std::optional<KnownType> type_as_written(std::size_t bytes, WrittenAs written) {
  const bool has_integers = (written & kAsInteger) != 0;
  const auto floats = static_cast<unsigned>(written & ~kAsInteger);
  if (has_integers && floats == 0) {
    return KnownType{ElementType::Exact, false, "integers, as written"};
  }
  for (const Format& format : kFormats) {
    if (format.written == floats && bytes % format.bytes == 0)
      return KnownType{format.type, has_integers, "as written"};
  }
  return std::nullopt;
}

KnownType type_by_contents(ByteSpan bytes, WrittenAs candidates) {
  // The narrowest first: what is wider also looks plausible if read in halves only by chance.
  for (const Format& format : kFormats) {
    if ((candidates & format.written) != 0 && fits(format, bytes))
      return {format.type, true, "by its contents"};
  }
  return {ElementType::Exact, false, "no floating-point type is known for it"};
}

}  // namespace cuco::vcluster
