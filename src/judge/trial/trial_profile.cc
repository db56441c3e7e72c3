// SPDX-License-Identifier: Apache-2.0
#include "judge/trial/trial_profile.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/text.h"
#include "targets/virtual/run_trace.h"

namespace cuco::judge {
namespace {

using candidate::HotSpot;
using candidate::PhaseTime;

constexpr double kSecond = 1e-12;
constexpr std::size_t kMostSpots = 6;
constexpr double kLeastShare = 0.03;
constexpr double kLongKernel = 0.05;  // of the span: one of its lines is told, hot or not

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Those parts of the span in which at least one of them was going on.
std::vector<Interval> covered(std::vector<Interval> intervals, const ProfiledSpan& span) {
  std::ranges::sort(intervals, {}, &Interval::begin);
  std::vector<Interval> result;
  for (const Interval& one : intervals) {
    const std::int64_t begin = std::max(one.begin, span.begin_ps);
    const std::int64_t end = std::min(one.end, span.end_ps);
    if (begin >= end) continue;
    if (!result.empty() && begin <= result.back().end) {
      result.back().end = std::max(result.back().end, end);
    } else {
      result.push_back({begin, end});
    }
  }
  return result;
}

double seconds_of(const std::vector<Interval>& intervals) {
  std::int64_t sum = 0;
  for (const Interval& one : intervals)
    sum += one.end - one.begin;
  return static_cast<double>(sum) * kSecond;
}

/// Warps' time by what it was spent on.
struct WarpTime {
  double all = 0;
  double loads = 0;
  double polls = 0;
  double barriers = 0;

  void add(const Json& from) {
    all += from.value("warp_time_ps", 0.0);
    loads += from.value("load_wait_ps", 0.0);
    polls += from.value("poll_wait_ps", 0.0);
    barriers += from.value("barrier_wait_ps", 0.0);
  }
  [[nodiscard]] double waits() const { return loads + polls + barriers; }
  /// Waits are seen from the first access on; a wait before it must not make more than there is.
  [[nodiscard]] double total() const { return std::max(all, waits()); }
};

std::vector<PhaseTime> phases_of(const Json& report, const ProfiledSpan& span) {
  std::vector<Interval> kernels;
  std::vector<Interval> everything;
  WarpTime warps;
  for (const Json& phase : report.value("phases", Json::array())) {
    if (phase.value("device", -1) != span.device) continue;
    kernels.push_back(
        {phase.value("started_ps", std::int64_t{0}), phase.value("finished_ps", std::int64_t{0})});
    warps.add(phase);
  }
  everything = kernels;
  for (const Json& work : report.value("works", Json::array())) {
    if (work.value("device", -1) != span.device ||
        work.value("what", std::string()).starts_with("kernel "))
      continue;
    everything.push_back(
        {work.value("started_ps", std::int64_t{0}), work.value("finished_ps", std::int64_t{0})});
  }
  const double in_kernels = seconds_of(covered(kernels, span));
  const double in_all = seconds_of(covered(everything, span));
  const double all = static_cast<double>(span.end_ps - span.begin_ps) * kSecond;
  const double each = warps.total() > 0 ? in_kernels / warps.total() : 0;
  std::vector<PhaseTime> phases{
      {"instructions", in_kernels - each * warps.waits()},
      {"waiting for memory", each * warps.loads},
      {"at barriers", each * warps.barriers},
      {std::string(candidate::kPolling), each * warps.polls},
      {std::string(candidate::kNotHidden), in_all - in_kernels},
      {"launches and host", all - in_all},
  };
  std::erase_if(phases, [&](const PhaseTime& phase) { return phase.seconds < 0.001 * all; });
  return phases;
}

std::string what_of(const Json& line, const WarpTime& waits, double instructions) {
  std::array<std::pair<double, const char*>, 4> kinds{{{instructions, "computes"},
                                                       {waits.loads, "waits for loads"},
                                                       {waits.polls, "polls for a signal"},
                                                       {waits.barriers, "waits at a barrier"}}};
  std::string text = std::ranges::max_element(kinds)->second;
  const double ideal = line.value("ideal_sectors", 0.0);
  const double sectors = line.value("sectors", 0.0);
  if (ideal > 0 && sectors > 1.5 * ideal)
    text += fmt::format(", moves {:.1f}x the sectors it needs", sectors / ideal);
  const double accesses = line.value("shared_accesses", 0.0);
  if (const double lost = line.value("bank_conflicts", 0.0); accesses > 0 && lost > 0.25 * accesses)
    text += fmt::format(", {:.1f} extra passes of shared memory an access", lost / accesses);
  return text;
}

/// How long each kernel was there on the device that was last, by name.
std::map<std::string, std::int64_t> kernel_times(const Json& report, const ProfiledSpan& span) {
  std::map<std::string, std::int64_t> times;
  for (const Json& phase : report.value("phases", Json::array())) {
    if (phase.value("device", -1) != span.device) continue;
    const auto begin = std::max(phase.value("started_ps", std::int64_t{0}), span.begin_ps);
    const auto end = std::min(phase.value("finished_ps", std::int64_t{0}), span.end_ps);
    if (begin < end)
      times[targets::kernel_name(phase.value("kernel", std::string()))] += end - begin;
  }
  return times;
}

/// The hottest ones, and the hottest one of every kernel that takes long; sorted. The first of each
/// kernel says how long that is.
std::vector<HotSpot> chosen(std::vector<HotSpot> spots,
                            const Json& report,
                            const ProfiledSpan& span) {
  std::ranges::stable_sort(spots, std::greater{}, &HotSpot::share);
  auto times = kernel_times(report, span);
  const double all = static_cast<double>(span.end_ps - span.begin_ps);
  std::vector<HotSpot> told;
  std::size_t hot = 0;
  for (HotSpot& spot : spots) {
    const auto time = times.find(spot.where.kernel);
    const auto taken = time == times.end() ? 0 : static_cast<double>(time->second);
    const bool is_hot = spot.share >= kLeastShare && hot < kMostSpots;
    if (!is_hot && taken < kLongKernel * all) continue;
    hot += is_hot ? 1U : 0U;
    if (time != times.end()) {
      spot.what += fmt::format("; this kernel runs for {}", human_seconds(taken * kSecond));
      times.erase(time);
    }
    told.push_back(std::move(spot));
  }
  return told;
}

std::vector<HotSpot> hot_spots_of(const Json& report, const ProfiledSpan& span) {
  WarpTime all;
  for (const Json& phase : report.value("phases", Json::array()))
    all.add(phase);
  double instructions = 0;
  for (const Json& kernel : report.value("kernels", Json::array()))
    instructions += kernel.value("warp_instructions", 0.0);
  if (all.total() <= 0) return {};
  const double each =
      instructions > 0 ? std::max(0.0, all.total() - all.waits()) / instructions : 0;
  std::vector<HotSpot> spots;
  for (const Json& kernel : report.value("kernels", Json::array())) {
    for (const Json& line : kernel.value("lines", Json::array())) {
      WarpTime waits;
      waits.add(line);
      const double computing = each * line.value("warps", 0.0);
      const double share = (waits.waits() + computing) / all.total();
      const int number = line.value("line", 0);
      if (number == 0) continue;
      const std::string file = line.value("file", std::string());
      HotSpot spot;
      spot.where = {.file = file.substr(file.rfind('/') + 1),
                    .line = number,
                    .kernel = targets::kernel_name(kernel.value("name", std::string()))};
      spot.share = share;
      spot.what = what_of(line, waits, computing);
      spots.push_back(std::move(spot));
    }
  }
  return chosen(std::move(spots), report, span);
}

}  // namespace

Result<Profile> read_profile(std::string_view report, const ProfiledSpan& span) {
  CUCO_TRY_ASSIGN(const Json json, parse_json(report));
  return Profile{.phases = phases_of(json, span),
                 .hot_spots = hot_spots_of(json, span),
                 .wire_bytes = json.value("wire_bytes", -1.0)};
}

}  // namespace cuco::judge
