// SPDX-License-Identifier: Apache-2.0
#include "judge/whole/closeness.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace cuco::judge {
namespace {

/// Fewer different values than this are no statistics.
constexpr std::size_t kEnough = 64;

/// What the elements of a copy are like.
struct Scale {
  double floor = 0;  ///< The size below which an element's errors do not get smaller.
  bool is_whole = false;
  bool is_varied = false;
};

/// Whole numbers that are small enough for the type to have had digits behind the point.
bool is_small_whole(double value, ElementType type) {
  const double limit = std::ldexp(1 / unit_roundoff(type), -6);
  return std::isfinite(value) && std::abs(value) <= limit && value == std::floor(value);
}

Scale scale_of(ByteSpan expected, const Closeness& closeness) {
  const ElementType type = closeness.type.type;
  const std::size_t count = expected.size() / size_of(type);
  std::vector<double> sizes;
  std::set<double> different;
  Scale scale{.is_whole = true};
  for (std::size_t i = 0; i < count; ++i) {
    if (closeness.type.is_mixed && !looks_like(type, expected, i)) continue;
    const double value = element(expected, type, i);
    scale.is_whole = scale.is_whole && is_small_whole(value, type);
    if (!std::isfinite(value)) continue;
    if (different.size() < kEnough) different.insert(value);
    if (value != 0) sizes.push_back(std::abs(value));
  }
  scale.is_varied = different.size() >= kEnough;
  if (sizes.empty()) return scale;
  const auto quarter = sizes.begin() + static_cast<std::ptrdiff_t>((sizes.size() - 1) / 4);
  std::nth_element(sizes.begin(), quarter, sizes.end());
  // A quarter of evenly spread numbers lies below a quarter of the largest.
  scale.floor = sizes.size() > 1 ? 4 * *quarter : *quarter;
  return scale;
}

bool same_bits(ByteSpan a, ByteSpan b, ElementType type, std::size_t index) {
  const std::size_t bytes = size_of(type);
  return std::memcmp(a.data() + index * bytes, b.data() + index * bytes, bytes) == 0;
}

std::uint64_t bits_of(ByteSpan bytes, ElementType type, std::size_t index) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes.data() + index * size_of(type), size_of(type));
  return bits;
}

class Comparison {
 public:
  Comparison(ByteSpan expected, ByteSpan got, const Closeness& closeness)
      : expected_(expected),
        got_(got),
        closeness_(closeness),
        type_(closeness.type.type),
        scale_(scale_of(expected, closeness)) {}

  std::optional<Deviation> run() {
    result_.elements = expected_.size() / size_of(type_);
    for (std::size_t i = 0; i < result_.elements; ++i)
      look_at(i);
    result_.rms = squares_ > 0 ? std::sqrt(difference_squares_ / squares_) : 0;
    const bool drifts = scale_.is_varied && result_.rms > closeness_.together();
    if (result_.wrong == 0 && !drifts) return std::nullopt;
    return result_;
  }

 private:
  void look_at(std::size_t i) {
    const double expected = element(expected_, type_, i);
    if (same_bits(expected_, got_, type_, i)) {
      if (std::isfinite(expected)) squares_ += expected * expected;
      return;
    }
    const double got = element(got_, type_, i);
    const double allowed = allowed_at(i, expected, got);
    const double difference = std::abs(got - expected);
    if (std::isnan(expected) && std::isnan(got) && allowed > 0) return;
    if (std::isfinite(difference)) {
      squares_ += expected * expected;
      difference_squares_ += difference * difference;
    }
    // A NaN is larger than anything that is allowed.
    const bool is_wrong = !(difference <= allowed);
    const double ratio = allowed > 0 ? difference / allowed : 0;
    const double excess = is_wrong && !(ratio > 1) ? HUGE_VAL : ratio;
    if (is_wrong) ++result_.wrong;
    if (excess <= excess_) return;
    excess_ = excess;
    result_.worst = i;
    result_.got = got;
    result_.expected = expected;
    result_.got_bits = bits_of(got_, type_, i);
    result_.expected_bits = bits_of(expected_, type_, i);
    result_.allowed = allowed;
  }

  /// 0: the bits must be the same.
  [[nodiscard]] double allowed_at(std::size_t i, double expected, double got) const {
    if (type_ == ElementType::Exact) return 0;
    const bool is_number = looks_like(type_, expected_, i) && looks_like(type_, got_, i);
    if (closeness_.type.is_mixed && !is_number) return 0;
    if (std::isnan(expected) && std::isnan(got)) return 1;
    if (!std::isfinite(expected)) return 0;
    if (scale_.is_whole && is_small_whole(got, type_)) return expected == got ? 1 : 0;
    return std::max(closeness_.relative() * std::abs(expected),
                    closeness_.to_neighbours() * scale_.floor);
  }

  const ByteSpan expected_;
  const ByteSpan got_;
  const Closeness closeness_;
  const ElementType type_;
  const Scale scale_;
  Deviation result_;
  double excess_ = 0;
  double squares_ = 0;
  double difference_squares_ = 0;
};

}  // namespace

double Closeness::relative() const {
  return 4 * together();
}

double Closeness::to_neighbours() const {
  return 4 * unit_roundoff(type.type) * std::sqrt(std::max(terms - 2, 0.25));
}

double Closeness::together() const {
  constexpr double kFewest = 4;
  return unit_roundoff(type.type) * std::sqrt(std::max(terms, kFewest));
}

double usual_terms(ElementType type, int ranks) {
  constexpr double kTermsOfARank = 4096;
  const bool is_short = type == ElementType::Float16 || type == ElementType::Bfloat16;
  return is_short ? ranks : ranks * kTermsOfARank;
}

std::optional<Deviation> deviation(ByteSpan expected, ByteSpan got, const Closeness& closeness) {
  if (expected.size() == got.size() &&
      std::memcmp(expected.data(), got.data(), expected.size()) == 0) {
    return std::nullopt;
  }
  if (expected.size() % size_of(closeness.type.type) != 0) {
    return Comparison(expected, got, {.type = {.why = "its size is no multiple of the type's"}})
        .run();
  }
  return Comparison(expected, got, closeness).run();
}

std::string describe(const Deviation& deviation, const Closeness& closeness) {
  const ElementType type = closeness.type.type;
  const bool is_exact = type == ElementType::Exact;
  const std::string of_all = fmt::format("{} of {} {}", deviation.wrong, deviation.elements,
                                         is_exact ? "bytes" : "elements");
  if (is_exact) {
    return fmt::format("byte {} is {:#04x}, expected {:#04x}; {} differ, and none may ({})",
                       deviation.worst, deviation.got_bits, deviation.expected_bits, of_all,
                       closeness.type.why);
  }
  const std::string how =
      fmt::format("{}, {}, sums of {:g} terms", name_of(type), closeness.type.why, closeness.terms);
  const std::string where = fmt::format("element {} is {:.9g}, expected {:.9g}", deviation.worst,
                                        deviation.got, deviation.expected);
  const double difference = std::abs(deviation.got - deviation.expected);
  if (deviation.wrong == 0) {
    return fmt::format(
        "all {} elements together differ by {:.2g} (rms), {:.2g} is allowed; {} ({})",
        deviation.elements, deviation.rms, closeness.together(), where, how);
  }
  if (deviation.allowed == 0) {
    return fmt::format(
        "{} ({:#x}, expected {:#x}), which must be the same; {} differ too much ({})", where,
        deviation.got_bits, deviation.expected_bits, of_all, how);
  }
  return fmt::format(
      "{}; the largest difference, {:.3g}, is {:.3g} times the {:.3g} that is "
      "allowed; {} differ too much ({})",
      where, difference, difference / deviation.allowed, deviation.allowed, of_all, how);
}

}  // namespace cuco::judge
