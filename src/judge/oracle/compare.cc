// SPDX-License-Identifier: Apache-2.0
#include "judge/oracle/compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/rng.h"

namespace cuco::judge {
namespace {

constexpr std::size_t kRun = 64;      // elements checked together
constexpr std::size_t kBatch = 4096;  // elements of the reference computed at once

class Checker {
 public:
  Checker(std::span<const std::byte> output,
          workload::Element type,
          const workload::Tolerance& tolerance,
          const Reference& reference)
      : output_(output), type_(type), tolerance_(tolerance), reference_(reference) {}

  void check(std::size_t first, std::size_t count) {
    want_.resize(count);
    scale_.resize(count);
    reference_(first, want_, scale_);
    for (std::size_t i = 0; i < count; ++i) {
      const double got = load_element(output_, first + i, type_);
      ++result.checked;
      result.scale = std::max(result.scale, scale_[i]);
      if (!is_right(got, want_[i], scale_[i], tolerance_, least_step(type_)))
        note(first + i, got, want_[i]);
    }
  }

  void check_finite(std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      const double got = load_element(output_, i, type_);
      if (!std::isfinite(got)) check(i, 1);
    }
  }

  Comparison result;

 private:
  void note(std::size_t index, double got, double want) {
    ++result.wrong;
    if (result.index >= 0 && result.index < static_cast<std::int64_t>(index)) return;
    result.index = static_cast<std::int64_t>(index);
    result.got = got;
    result.want = want;
  }

  std::span<const std::byte> output_;
  workload::Element type_;
  const workload::Tolerance& tolerance_;
  const Reference& reference_;
  std::vector<double> want_;
  std::vector<double> scale_;
};

}  // namespace

double load_element(std::span<const std::byte> bytes, std::size_t index, workload::Element type) {
  if (type == workload::Element::Bf16) {
    std::uint16_t half = 0;
    std::memcpy(&half, bytes.data() + 2 * index, 2);
    return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16U);
  }
  float value = 0;
  std::memcpy(&value, bytes.data() + 4 * index, 4);
  return value;
}

void store_element(std::span<std::byte> bytes,
                   std::size_t index,
                   workload::Element type,
                   double value) {
  const auto single = static_cast<float>(value);
  if (type == workload::Element::Fp32) {
    std::memcpy(bytes.data() + 4 * index, &single, 4);
    return;
  }
  const auto bits = std::bit_cast<std::uint32_t>(single);
  const auto half = static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
  std::memcpy(bytes.data() + 2 * index, &half, 2);
}

double one_precision_lower(double value, workload::Element type) {
  const unsigned drop = 52 - (type == workload::Element::Fp32 ? 10 : 3);
  const auto raw = std::bit_cast<std::uint64_t>(value) + (std::uint64_t{1} << (drop - 1));
  return std::bit_cast<double>(raw >> drop << drop);
}

double least_step(workload::Element type) {
  return type == workload::Element::Fp32 ? 0x1p-149 : 0x1p-133;
}

bool is_right(
    double got, double want, double scale, const workload::Tolerance& tolerance, double step) {
  if (!std::isfinite(got)) return false;
  return std::abs(got - want) <=
         tolerance.relative * std::abs(want) + tolerance.scaled * scale + step;
}

Comparison compare(std::span<const std::byte> output,
                   workload::Element type,
                   const workload::Tolerance& tolerance,
                   const Reference& reference,
                   std::uint64_t seed,
                   std::size_t limit) {
  const std::size_t count = output.size() / workload::bytes_of(type);
  Checker checker(output, type, tolerance, reference);
  if (count <= limit) {
    for (std::size_t first = 0; first < count; first += kBatch) {
      checker.check(first, std::min(kBatch, count - first));
    }
    return checker.result;
  }
  // One run at a secret place in each of equal parts: no part goes unseen.
  Rng rng(seed);
  const std::size_t runs = std::max<std::size_t>(1, limit / kRun);
  const std::size_t part = count / runs;
  for (std::size_t run = 0; run < runs; ++run) {
    const std::size_t begin = run * part;
    const std::size_t end = run + 1 == runs ? count : begin + part;
    const std::size_t length = std::min(kRun, end - begin);
    const std::size_t first = begin + rng.below(end - begin - length + 1);
    checker.check_finite(begin, first - begin);
    checker.check(first, length);
    checker.check_finite(first + length, end - first - length);
  }
  return checker.result;
}

Comparison compare_with(std::span<const std::byte> output,
                        workload::Element type,
                        const workload::Tolerance& tolerance,
                        std::span<const float> want,
                        std::span<const float> scale) {
  const workload::Tolerance wide{2 * tolerance.relative, 2 * tolerance.scaled};
  const Reference known = [&](std::size_t first, std::span<double> wants,
                              std::span<double> scales) {
    std::copy_n(want.begin() + static_cast<std::ptrdiff_t>(first), wants.size(), wants.begin());
    std::copy_n(scale.begin() + static_cast<std::ptrdiff_t>(first), scales.size(), scales.begin());
  };
  return compare(output, type, wide, known, 0, ~std::size_t{0});
}

std::optional<std::size_t> first_unlike(std::span<const std::byte> one,
                                        std::span<const std::byte> other,
                                        workload::Element type,
                                        const workload::Tolerance& tolerance,
                                        double scale) {
  // Each may err by the tolerance; and the scale is that of a sample.
  constexpr double kSlack = 4;
  for (std::size_t i = 0; i < one.size() / workload::bytes_of(type); ++i) {
    const double a = load_element(one, i, type);
    const double b = load_element(other, i, type);
    const double most = kSlack * (tolerance.relative * std::max(std::abs(a), std::abs(b)) +
                                  tolerance.scaled * scale);
    if (!(std::abs(a - b) <= most)) return i;  // NaN is unlike everything
  }
  return std::nullopt;
}

}  // namespace cuco::judge
