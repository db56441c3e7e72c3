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
constexpr int kLongTries = 4000;  ///< To find one whose buffer is long, whatever the secret.
// Against the timed shapes: a drawn one is verified element by element, under many schedules.
constexpr double kMostWork = 1.0 / 12;
constexpr double kLeastWork = 1.0 / 96;
// A long shape's one parameter is up to so many times the highest timed one; the others are this
// part of theirs at most.
constexpr long long kLongest = 8;
constexpr long long kPart = 4;
// One whose buffer is long may have more work, so that blocks go round over it, too.
constexpr double kMostLongWork = 1.0 / 4;

/// The value of a range that is nearest.
long long nearest_value(const Range& range, double value) {
  const auto steps =
      std::llround((value - static_cast<double>(range.from)) / static_cast<double>(range.step));
  return range.from + std::clamp(steps, 0LL, (range.to - range.from) / range.step) * range.step;
}

/// Up to `highest`, every order of magnitude as likely as the others.
long long draw_value(const Range& range, long long highest, Rng& rng) {
  const auto least = static_cast<double>(std::max(range.from, 1LL));
  const auto most = static_cast<double>(std::max(std::min(range.to, highest), 1LL));
  return nearest_value(range, least * std::pow(most / least, rng.uniform()));
}

/// From `lowest` on, every value as likely as the others.
long long draw_long(const Range& range, long long lowest, Rng& rng) {
  const auto least = static_cast<double>(std::min(lowest, range.to));
  const auto most = static_cast<double>(std::min(kLongest * lowest, range.to));
  return nearest_value(range, least + (most - least) * rng.uniform());
}

class Drawer {
 public:
  Drawer(const Workload& workload, const Secret& secret)
      : workload_(workload),
        rng_(secret.key(fmt::format("shapes {}", workload.name))),
        timed_(workload.shapes_for(Use::Time)) {
    for (std::size_t p = 0; p < workload.ranges.size(); ++p)
      phases_.push_back(rng_.below(2));
  }

  Result<std::vector<Shape>> draw() {
    CUCO_TRY(weigh_timed());
    std::vector<Shape> drawn;
    const auto add = [&](const Small& kind) -> Result<void> {
      CUCO_TRY_ASSIGN(Shape shape, draw_small(kind, drawn.size()));
      drawn.push_back(std::move(shape));
      return {};
    };
    for (int i = 0; i < workload_.draws.check; ++i)
      CUCO_TRY(add({.use = Use::Check, .least_work = kLeastWork}));
    for (int i = 0; i < workload_.draws.hidden; ++i)
      CUCO_TRY(add(i == 0 ? Small{.least_param = any_range()} : Small{}));
    for (std::size_t p = 0; p < workload_.ranges.size(); ++p) {
      if (!workload_.ranges[p].values.empty()) continue;
      CUCO_TRY(add({.long_param = p}));
      CUCO_TRY(add({.long_param = p}));
    }
    CUCO_TRY_ASSIGN(const std::vector<Length> lengths, mixed_lengths());
    for (const Length& length : lengths) {
      for (const bool has_most : {true, false}) {
        CUCO_TRY_ASSIGN(Shape shape, draw_longest(length, has_most, drawn.size()));
        drawn.push_back(std::move(shape));
      }
    }
    name_hidden(&drawn);
    for (const Shape* timed : timed_)
      drawn.push_back(beside(*timed));
    return drawn;
  }

 private:
  /// Of a buffer.
  struct Length {
    std::string formula;
    std::vector<bool> depends;  ///< On each parameter.
  };

  /// A kind of small shape.
  struct Small {
    Use use = Use::Hidden;
    double least_work = 0;
    std::optional<std::size_t> least_param;  ///< At its least: one token, one row, one head.
    /// As high as in timed shapes or higher: loops that run once in others go round.
    std::optional<std::size_t> long_param;
    const Length* long_buffer = nullptr;  ///< Any may be long.
    /// Values that the buffer's length does not depend on are the highest: programs that give each
    /// expert some of their blocks give it the fewest then, and those go round.
    bool has_most = false;
  };

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

  /// One that has a range; nothing if all parameters have values.
  std::optional<std::size_t> any_range() {
    std::vector<std::size_t> ranged;
    for (std::size_t p = 0; p < workload_.ranges.size(); ++p) {
      if (workload_.ranges[p].values.empty()) ranged.push_back(p);
    }
    if (ranged.empty()) return std::nullopt;
    return ranged[rng_.below(ranged.size())];
  }

  Result<Shape> draw_small(const Small& kind, std::size_t number) {
    std::optional<Shape> nearest;
    double distance = INFINITY;
    for (int i = 0; i < kTries && distance > 0; ++i) {
      Shape shape = draw_any(kind, number);
      CUCO_TRY_ASSIGN(const bool possible, is_possible(shape));
      if (!possible) continue;
      CUCO_TRY_ASSIGN(const double work, work_of(shape));
      const double off = work > kMostWork         ? work / kMostWork
                         : work < kind.least_work ? kind.least_work / work
                                                  : 0;
      if (off >= distance) continue;
      distance = off;
      nearest = std::move(shape);
    }
    if (!nearest) {
      return Error{ErrorKind::InvalidInput,
                   fmt::format("{}: no shape of [range] satisfies 'positive'", workload_.name)};
    }
    nearest->name = name_of(*nearest);
    return *std::move(nearest);
  }

  /// Lengths of buffers that depend on a parameter with a few values, such as tokens * top: one for
  /// each set of parameters.
  Result<std::vector<Length>> mixed_lengths() {
    std::vector<Length> lengths;
    std::vector<BufferRule> rules = workload_.inputs;
    rules.insert(rules.end(), workload_.outputs.begin(), workload_.outputs.end());
    for (const BufferRule& rule : rules) {
      std::vector<bool> depends;
      bool is_mixed = false;
      for (std::size_t p = 0; p < workload_.ranges.size(); ++p) {
        CUCO_TRY_ASSIGN(const bool does, depends_on(rule.elements, p));
        depends.push_back(does);
        is_mixed |= does && workload_.ranges[p].values.size() > 2;
      }
      if (!is_mixed || std::ranges::find(lengths, depends, &Length::depends) != lengths.end())
        continue;
      lengths.push_back({rule.elements, std::move(depends)});
    }
    return lengths;
  }

  [[nodiscard]] Result<bool> depends_on(const std::string& formula, std::size_t param) const {
    if (timed_.empty()) return false;
    const Range& range = workload_.ranges[param];
    Shape one = *timed_[0];
    Shape other = one;
    one.params[param] = range.values.empty() ? range.from : std::ranges::min(range.values);
    other.params[param] = range.values.empty() ? range.to : std::ranges::max(range.values);
    CUCO_TRY_ASSIGN(const double least, evaluate(formula, workload_.variables(one)));
    CUCO_TRY_ASSIGN(const double most, evaluate(formula, workload_.variables(other)));
    return least != most;
  }

  /// As long in this buffer as its work allows.
  Result<Shape> draw_longest(const Length& length, bool has_most, std::size_t number) {
    std::optional<Shape> longest;
    double most = 0;
    for (int i = 0; i < kLongTries; ++i) {
      Shape shape = draw_any({.long_buffer = &length, .has_most = has_most}, number);
      CUCO_TRY_ASSIGN(const bool possible, is_possible(shape));
      if (!possible) continue;
      CUCO_TRY_ASSIGN(const double work, work_of(shape));
      CUCO_TRY_ASSIGN(const double elements, evaluate(length.formula, workload_.variables(shape)));
      if (work > kMostLongWork || elements <= most) continue;
      most = elements;
      longest = std::move(shape);
    }
    if (!longest) return draw_small({}, number);
    longest->name = name_of(*longest);
    return *std::move(longest);
  }

  Shape draw_any(const Small& kind, std::size_t number) {
    Shape shape{.name = "", .uses = {kind.use}, .params = {}};
    for (std::size_t p = 0; p < workload_.ranges.size(); ++p)
      shape.params.push_back(draw_param(kind, number, p));
    return shape;
  }

  long long draw_param(const Small& kind, std::size_t number, std::size_t param) {
    const Range& range = workload_.ranges[param];
    if (range.values.size() == 2) return range.values[turn(number, param)];
    if (kind.has_most && !range.values.empty() && !kind.long_buffer->depends[param])
      return std::ranges::max(range.values);
    if (!range.values.empty()) return range.values[rng_.below(range.values.size())];
    if (param == kind.least_param) return range.from;
    const long long highest = highest_timed(param);
    if (param == kind.long_param) return draw_long(range, highest, rng_);
    if (kind.long_buffer != nullptr) return draw_value(range, kLongest * highest, rng_);
    return draw_value(range, kind.long_param ? highest / kPart : highest, rng_);
  }

  /// Two values, such as an element type, come in turn; those of two parameters meet in four shapes
  /// in all four ways.
  [[nodiscard]] std::size_t turn(std::size_t number, std::size_t param) const {
    std::size_t before = 0;
    for (std::size_t p = 0; p < param; ++p)
      before += workload_.ranges[p].values.size() == 2 ? 1 : 0;
    return (number + number / 2 * before + phases_[param]) % 2;
  }

  /// Verdicts are read by proposers: a hidden shape's name says nothing.
  static void name_hidden(std::vector<Shape>* drawn) {
    int number = 0;
    for (Shape& shape : *drawn) {
      if (shape.uses.contains(Use::Hidden)) shape.name = fmt::format("hidden {}", ++number);
    }
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
  std::vector<std::size_t> phases_;  ///< Which of a parameter's two values comes first.
  double flops_ = 0;                 ///< Logarithms.
  double bytes_ = 0;
};

}  // namespace

Result<std::vector<Shape>> draw_shapes(const Workload& workload, const Secret& secret) {
  if (workload.ranges.empty()) return std::vector<Shape>();
  return Drawer(workload, secret).draw();
}

namespace {

bool is_in(const Range& range, long long value) {
  if (!range.values.empty()) return std::ranges::find(range.values, value) != range.values.end();
  return value >= range.from && value <= range.to && (value - range.from) % range.step == 0;
}

}  // namespace

Result<Shape> proposed_shape(const Workload& workload, const std::vector<long long>& params) {
  std::vector<std::string> named;
  for (std::size_t p = 0; p < params.size() && p < workload.params.size(); ++p)
    named.push_back(fmt::format("{}={}", workload.params[p], params[p]));
  Shape shape{.name = "proposed " + join(named, " "), .uses = {Use::Check}, .params = params};
  const auto refused = [&](std::string_view why) {
    return Error{ErrorKind::InvalidInput, fmt::format("shape {}: {}", shape.name, why)};
  };
  if (params.size() != workload.params.size()) return refused("not as many values as parameters");
  if (workload.ranges.empty()) return refused("the workload has no ranges");
  for (std::size_t p = 0; p < params.size(); ++p) {
    if (!is_in(workload.ranges[p], params[p]))
      return refused(fmt::format("{} is out of range", workload.params[p]));
  }
  if (!workload.draws.positive.empty()) {
    CUCO_TRY_ASSIGN(const double value,
                    evaluate(workload.draws.positive, workload.variables(shape)));
    if (value <= 0) return refused("there is no such shape");
  }
  CUCO_TRY_ASSIGN(const measure::Demand demand, workload.demand(shape));
  for (const Shape* timed : workload.shapes_for(Use::Time)) {
    CUCO_TRY_ASSIGN(const measure::Demand most, workload.demand(*timed));
    if (demand.flops <= most.flops && demand.hbm_bytes <= most.hbm_bytes) return shape;
  }
  return refused("more work than a timed shape");
}

}  // namespace cuco::workload
