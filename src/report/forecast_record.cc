// SPDX-License-Identifier: Apache-2.0
#include "report/forecast_record.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"

namespace cuco::report {
namespace {
using candidate::Entry;

double reached(const Entry& entry) {
  for (const auto& [rung, outcome] : entry.outcomes) {
    const auto* scored = std::get_if<candidate::Scored>(&outcome);
    if (scored != nullptr && scored->seconds > 0) return scored->baseline_seconds / scored->seconds;
  }
  return 0;
}

}  // namespace

ForecastRecord forecast_record(const candidate::RunState& state) {
  ForecastRecord record;
  std::vector<double> errors;
  double seconds = 0;
  int judged = 0;
  for (const Entry& entry : state.entries) {
    if (entry.wall_seconds > 0) {
      seconds += entry.wall_seconds;
      ++judged;
    }
    const auto& forecast = entry.candidate.lineage.forecast;
    if (!forecast) continue;
    if (!forecast->judged) ++record.skipped;
    if (forecast->audited) ++record.audited;
    const double speedup = reached(entry);
    if (speedup <= 0) continue;
    ++record.made;
    errors.push_back(std::abs(forecast->speedup / speedup - 1));
    record.inside += speedup >= forecast->low && speedup <= forecast->high ? 1 : 0;
    record.wrong += forecast->audited && speedup > forecast->high ? 1 : 0;
  }
  if (!errors.empty()) {
    std::sort(errors.begin(), errors.end());
    record.error = errors[(errors.size() - 1) / 2];
  }
  if (judged > 0) record.saved_seconds = record.skipped * seconds / judged;
  return record;
}

std::string forecast_text(const ForecastRecord& record) {
  if (record.made == 0 && record.skipped == 0) return {};
  std::string text =
      fmt::format("{} forecasts before a build, {:.0f} % off (median), {} within their interval",
                  record.made, 100 * record.error, record.inside);
  if (record.skipped > 0) {
    text += fmt::format("; {} not judged, about {} saved", record.skipped,
                        human_seconds(record.saved_seconds));
  }
  if (record.audited > 0) {
    text += fmt::format("; of {} hopeless ones that were judged, {} did better", record.audited,
                        record.wrong);
  }
  return text;
}

}  // namespace cuco::report
