// SPDX-License-Identifier: Apache-2.0
#include "workload/shrink.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

namespace cuco::workload {
namespace {

// What one core emulates in a second, about; bytes are made, moved and verified, too.
constexpr double kTensorFlops = 4e9;
constexpr double kFlops = 3e8;
constexpr double kBytes = 3e7;

/// How far from 1/k a shape may be, as a ratio: the machine follows what it is.
constexpr double kOff = 1.5;

/// The values that a parameter may shrink to, from the full one downwards.
std::vector<long long> values_of(const Workload& workload, std::size_t param, long long full) {
  std::vector<long long> values{full};
  const long long step = workload.scale[param];
  if (step == 0) return values;
  for (long long value = (full - 1) / step * step; value >= step; value -= step)
    values.push_back(value);
  return values;
}

/// Looks through all combinations: there are a few hundred.
class Shrinker {
 public:
  Shrinker(const Workload& workload, const Shape& full, const measure::Demand& whole, double k)
      : workload_(workload), full_(full), whole_(whole), k_(k), tried_(full) {}

  Result<std::optional<Shape>> best() {
    CUCO_TRY(try_from(0));
    return best_;
  }
  [[nodiscard]] double most() const { return most_; }

 private:
  Result<void> try_from(std::size_t param) {
    if (param == full_.params.size()) return weigh();
    for (const long long value : values_of(workload_, param, full_.params[param])) {
      tried_.params[param] = value;
      CUCO_TRY(try_from(param + 1));
    }
    return {};
  }

  Result<void> weigh() {
    CUCO_TRY_ASSIGN(const measure::Demand demand, workload_.demand(tried_));
    const auto ratio = [](double whole, double part) { return part > 0 ? whole / part : 1.0; };
    const hardware::Divisor divisor{.math = ratio(whole_.flops, demand.flops),
                                    .memory = ratio(whole_.hbm_bytes, demand.hbm_bytes),
                                    .links = ratio(whole_.wire_bytes, demand.wire_bytes)};
    most_ = std::max(most_, divisor.math);
    const double off = std::abs(std::log(divisor.math / k_));
    if (off > std::log(kOff)) return {};
    // A value that does not divide the full one leaves a part of a tile or of a wave over.
    double unclean = 0;
    for (std::size_t p = 0; p < full_.params.size(); ++p)
      unclean += tried_.params[p] != 0 && full_.params[p] % tried_.params[p] != 0 ? 1 : 0;
    const double cost =
        off + std::abs(std::log(divisor.memory / divisor.math)) +
        (whole_.wire_bytes > 0 ? std::abs(std::log(divisor.links / divisor.math)) : 0) +
        0.2 * unclean;
    if (best_ && cost >= cost_) return {};
    cost_ = cost;
    best_ = tried_;
    best_->divisor = divisor;
    return {};
  }

  const Workload& workload_;
  const Shape& full_;
  const measure::Demand& whole_;
  double k_;
  Shape tried_;
  std::optional<Shape> best_;
  double cost_ = 0;
  double most_ = 1;
};

}  // namespace

Result<Shape> shrink(const Workload& workload, const Shape& full, double k) {
  CUCO_TRY_ASSIGN(const measure::Demand whole, workload.demand(full));
  if (k <= 1) return full;
  if (workload.scale.empty()) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("{}: workload.toml has no [scale], which says how '{}' shrinks",
                             workload.name, full.name)};
  }
  Shrinker shrinker(workload, full, whole, k);
  CUCO_TRY_ASSIGN(auto best, shrinker.best());
  if (!best) {
    return Error{ErrorKind::InvalidInput,
                 fmt::format("'{}' cannot be divided by {:g}: [scale] allows {:g} at most",
                             full.name, k, shrinker.most())};
  }
  best->name = fmt::format("{} / {:.3g}", full.name, best->divisor.math);
  return *std::move(best);
}

Result<double> emulation_seconds(const Workload& workload, const Shape& shape) {
  CUCO_TRY_ASSIGN(const measure::Demand demand, workload.demand(shape));
  CUCO_TRY_ASSIGN(const std::string type, choose(workload.flops_type, workload.variables(shape)));
  return workload.ranks *
         (demand.flops / (type == "bf16" ? kTensorFlops : kFlops) + demand.hbm_bytes / kBytes);
}

Result<double> factor_for(const Workload& workload, const Shape& full, double seconds) {
  CUCO_TRY_ASSIGN(const double work, emulation_seconds(workload, full));
  double k = std::exp2(std::max(0.0, std::ceil(std::log2(work / seconds))));
  while (k > 1 && !shrink(workload, full, k))
    k /= 2;
  return k;
}

}  // namespace cuco::workload
