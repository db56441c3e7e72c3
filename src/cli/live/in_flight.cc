// SPDX-License-Identifier: Apache-2.0
#include "cli/live/in_flight.h"

#include <algorithm>
#include <utility>

namespace cuco::cli {
namespace {

/// Fewer say too little about the rest.
constexpr std::size_t kStepsForGuess = 3;
/// What comes from the compiler's cache says nothing about a build.
constexpr double kFromCache = 0.5;
constexpr std::size_t kMostBuilds = 15;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

InFlight::Stay::Stay(InFlight& table, const RunningJob& job, std::string program) : table_(table) {
  const std::lock_guard lock(table_.mutex_);
  key_ = table_.next_++;
  table_.jobs_.emplace(key_, Job{.about = job,
                                 .program = std::move(program),
                                 .begin = table_.clock_->now(),
                                 .steps_begin = Nanoseconds{0}});
}

InFlight::Stay::~Stay() {
  const std::lock_guard lock(table_.mutex_);
  const auto job = table_.jobs_.extract(key_);
  const double seconds = table_.seconds_since(job.mapped().begin);
  if (job.mapped().about.work != Work::Building || seconds < kFromCache) return;
  if (table_.builds_.size() == kMostBuilds) table_.builds_.erase(table_.builds_.begin());
  table_.builds_.push_back(seconds);
}

void InFlight::advance(const judge::JudgeProgress& progress) {
  const std::lock_guard lock(mutex_);
  for (auto& [key, job] : jobs_) {
    if (job.about.work != Work::Judging || job.program != progress.program) continue;
    if (job.about.all == 0 && progress.all > 0) job.steps_begin = clock_->now();
    job.about.all = progress.all;
    // Threads may overtake each other on the way here.
    job.about.done = std::max(job.about.done, progress.done);
    return;
  }
}

double InFlight::seconds_since(Nanoseconds begin) const {
  return std::chrono::duration<double>(clock_->now() - begin).count();
}

std::optional<double> InFlight::left_of(const Job& job) const {
  const RunningJob& about = job.about;
  if (about.work == Work::Building) {
    if (builds_.empty()) return std::nullopt;
    const double left = median(builds_) - seconds_since(job.begin);
    return left > 0 ? std::optional(left) : std::nullopt;
  }
  if (about.done < kStepsForGuess || about.done >= about.all) return std::nullopt;
  return seconds_since(job.steps_begin) / static_cast<double>(about.done) *
         static_cast<double>(about.all - about.done);
}

std::vector<RunningJob> InFlight::jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<RunningJob> list;
  for (const auto& [key, job] : jobs_) {
    list.push_back(job.about);
    list.back().elapsed = seconds_since(job.begin);
    list.back().left = left_of(job);
  }
  return list;
}

}  // namespace cuco::cli
