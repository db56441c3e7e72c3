// SPDX-License-Identifier: Apache-2.0
#include "vcluster/record/input_variation.h"

#include <algorithm>
#include <cstring>

#include "base/rng.h"

namespace cuco::vcluster {
namespace {

std::uint64_t mixed(std::uint64_t key, std::uint64_t bits) {
  return Rng(Rng(key + bits).next() ^ key).next();
}

/// The last digits of a changed number are a function of the others: so it is known again. Of other
/// numbers, one in 2^mark has them by chance and stays what it is.
class Digits {
 public:
  Digits(std::uint64_t key, unsigned mantissa_bits)
      : key_(key), mantissa_(mantissa_bits), mark_(std::min(mantissa_bits / 4, 8U)) {}

  [[nodiscard]] std::uint64_t fresh(std::uint64_t bits) const {
    if (marked(bits) == bits) return bits;
    const std::uint64_t digits = (1ULL << mantissa_) - 1;
    return marked((bits & ~digits) | (mixed(key_, bits) & digits));
  }

 private:
  [[nodiscard]] std::uint64_t marked(std::uint64_t bits) const {
    const std::uint64_t mark = (1ULL << mark_) - 1;
    return (bits & ~mark) | (mixed(~key_, bits >> mark_) & mark);
  }

  std::uint64_t key_;
  unsigned mantissa_;
  unsigned mark_;
};

}  // namespace

ElementType InputVariation::apply(std::span<std::byte> bytes) const {
  if (key == 0) return ElementType::Exact;
  const ElementType type = type_by_contents(bytes, types).type;
  if (type == ElementType::Exact) return type;
  const Digits digits(key, stored_digits(type));
  const std::size_t size = size_of(type);
  for (std::size_t i = 0; i < bytes.size() / size; ++i) {
    if (!is_plain_number(type, bytes, i)) continue;
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * size, size);
    bits = digits.fresh(bits);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return type;
}

}  // namespace cuco::vcluster
