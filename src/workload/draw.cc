// SPDX-License-Identifier: Apache-2.0
#include "workload/draw.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "base/rng.h"
#include "base/text.h"

namespace cuco::workload {
namespace {

constexpr int kTries = 400;
// Against the timed shapes: a drawn one is verified element by element, under many schedules.
constexpr double kMostWork = 1.0 / 12;
constexpr double kLeastWork = 1.0 / 96;

/// One value of a range, every order of magnitude as likely as the others.
long long draw_value(const Range& range, long long highest, Rng& rng) {
  const auto least = static_cast<double>(std::max(range.from, 1LL));
  const auto most = static_cast<double>(std::max(std::min(range.to, highest), 1LL));
  const double value = least * std::pow(most / least, rng.uniform());
  const auto steps =
      std::llround((value - static_cast<double>(range.from)) / static_cast<double>(range.step));
  return range.from + std::clamp(steps, 0LL, (range.to - range.from) / range.step) * range.step;
}

class Drawer {
 public:
  Drawer(const Workload& workload, const Secret& secret)
      : workload_(workload),
        rng_(secret.key(fmt::format("shapes {}", workload.name))),
        timed_(workload.shapes_for(Use::Time)) {}

  Result<std::vector<Shape>> draw() {
    CUCO_TRY(weigh_timed());
    std::vector<Shape> drawn;
    for (int i = 0; i < workload_.draws.check; ++i) {
      CUCO_TRY_ASSIGN(Shape shape, draw_small(Use::Check, i));
      drawn.push_back(std::move(shape));
    }
    for (int i = 0; i < workload_.draws.hidden; ++i) {
      CUCO_TRY_ASSIGN(Shape shape, draw_small(Use::Hidden, i));
      drawn.push_back(std::move(shape));
    }
    for (const Shape* timed : timed_)
      drawn.push_back(beside(*timed));
    return drawn;
  }

 private:
  /// The timed shapes' work, as a mean over all of them.
  Result<void> weigh_timed() {
    for (const Shape* shape : timed_) {
      CUCO_TRY_ASSIGN(const measure::Demand demand, workload_.demand(*shape));
      const auto count = static_cast<double>(timed_.size());
      flops_ += std::log(std::max(demand.flops, 1.0)) / count;
      bytes_ += std::log(std::max(demand.hbm_bytes, 1.0)) / count;
    }
    return {};
  }

  /// Of a shape, against the timed ones.
  [[nodiscard]] Result<double> work_of(const Shape& shape) const {
    CUCO_TRY_ASSIGN(const measure::Demand demand, workload_.demand(shape));
    return std::max(demand.flops / std::exp(flops_), demand.hbm_bytes / std::exp(bytes_));
  }

  [[nodiscard]] Result<bool> is_possible(const Shape& shape) const {
    if (workload_.draws.positive.empty()) return true;
    CUCO_TRY_ASSIGN(const double value,
                    evaluate(workload_.draws.positive, workload_.variables(shape)));
    return value > 0;
  }

  Result<Shape> draw_small(Use use, int number) {
    // One of the hidden ones has a parameter at its least: one token, one row, one head.
    const bool edge = use == Use::Hidden && number == 0;
    const std::size_t at = rng_.below(workload_.ranges.size());
    const double least = use == Use::Check ? kLeastWork : 0;
    std::optional<Shape> nearest;
    double distance = INFINITY;
    for (int i = 0; i < kTries && distance > 0; ++i) {
      Shape shape = draw_any(use, number);
      if (edge && workload_.ranges[at].values.empty()) shape.params[at] = workload_.ranges[at].from;
      CUCO_TRY_ASSIGN(const bool possible, is_possible(shape));
      if (!possible) continue;
      CUCO_TRY_ASSIGN(const double work, work_of(shape));
      const double off = work > kMostWork ? work / kMostWork : work < least ? least / work : 0;
      if (off >= distance) continue;
      distance = off;
      nearest = std::move(shape);
    }
    if (!nearest) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{}: no shape of [range] satisfies 'positive'", workload_.name)};
    }
    nearest->name = use == Use::Hidden ? fmt::format("hidden {}", number + 1) : name_of(*nearest);
    return *std::move(nearest);
  }

  Shape draw_any(Use use, int number) {
    Shape shape{.name = "", .uses = {use}, .params = {}};
    for (std::size_t p = 0; p < workload_.ranges.size(); ++p) {
      const std::vector<long long>& values = workload_.ranges[p].values;
      // Two values, such as an element type, come in turn; of many, any.
      const auto turn = values.size() == 2 ? static_cast<std::uint64_t>(number) % 2
                        : values.empty()   ? 0
                                           : rng_.below(values.size());
      shape.params.push_back(
          values.empty() ? draw_value(workload_.ranges[p], highest_timed(p), rng_) : values[turn]);
    }
    return shape;
  }

  /// What a small shape may have at most of a parameter: many thousand rows of nearly nothing are
  /// not small.
  [[nodiscard]] long long highest_timed(std::size_t param) const {
    long long highest = 1;
    for (const Shape* shape : timed_)
      highest = std::max(highest, shape->params[param]);
    return highest;
  }

  [[nodiscard]] std::string name_of(const Shape& shape) const {
    std::vector<std::string> parts;
    for (std::size_t p = 0; p < workload_.params.size(); ++p)
      parts.push_back(fmt::format("{}={}", workload_.params[p], shape.params[p]));
    return join(parts, " ");
  }

  /// A step or two away in some direction; not much larger.
  Shape beside(const Shape& timed) {
    Shape shape{
        .name = fmt::format("near {}", timed.name), .uses = {Use::Near}, .params = timed.params};
    for (int i = 0; i < kTries && shape.params == timed.params; ++i) {
      for (std::size_t p = 0; p < workload_.ranges.size(); ++p) {
        const Range& range = workload_.ranges[p];
        if (!range.values.empty()) continue;
        const long long value = timed.params[p];
        const bool is_fine = range.step * 8 <= value;
        const auto steps = is_fine ? static_cast<long long>(rng_.below(5)) - 2
                                   : -static_cast<long long>(rng_.below(2));
        const long long moved = value + steps * range.step;
        if (moved >= range.from && moved <= range.to) shape.params[p] = moved;
      }
    }
    return shape;
  }

  const Workload& workload_;
  Rng rng_;
  std::vector<const Shape*> timed_;
  double flops_ = 0;  ///< Logarithms.
  double bytes_ = 0;
};

}  // namespace

Result<std::vector<Shape>> draw_shapes(const Workload& workload, const Secret& secret) {
  if (workload.ranges.empty()) return std::vector<Shape>();
  return Drawer(workload, secret).draw();
}

}  // namespace cuco::workload
