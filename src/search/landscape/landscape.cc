// SPDX-License-Identifier: Apache-2.0
#include "search/landscape/landscape.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace cuco::search {
namespace {

constexpr std::string_view kPoint = "point ";
constexpr std::string_view kEnumerated = "enumerate";

}  // namespace

Result<void> Landscape::add(const candidate::RunState& run) {
  if (run.entries.empty() || run.entries.front().scored() == nullptr)
    return Error{ErrorKind::InvalidInput, "the run's seed has no verdict"};
  const candidate::Entry& seed = run.entries.front();
  const std::string hardware = run.started ? run.started->hardware : std::string();
  if (seed_.empty()) {
    seed_ = seed.outcomes;
    code_ = seed.candidate.code_hash;
    hardware_ = hardware;
  } else if (code_ != seed.candidate.code_hash || hardware_ != hardware) {
    return Error{ErrorKind::InvalidInput,
                 "the runs start from different programs or were judged on different hardware"};
  }
  for (std::size_t i = 1; i < run.entries.size(); ++i) {
    const candidate::Entry& entry = run.entries[i];
    const bool judged = !entry.outcomes.empty() && !entry.candidate.source.empty();
    if (!judged || !known_.emplace(entry.candidate.code_hash, true).second) continue;
    const auto& lineage = entry.candidate.lineage;
    points_.push_back({.proposer = lineage.proposer,
                       .finite = lineage.phase == kEnumerated,
                       .directive = entry.candidate.directive,
                       .outcomes = entry.outcomes});
  }
  return {};
}

candidate::TargetKind Landscape::target() const {
  return seed_.empty() ? candidate::TargetKind::Virtual : seed_.begin()->first.target;
}

std::string Landscape::text_of(std::size_t point) {
  return fmt::format("{}{}", kPoint, point);
}

int Landscape::point_of(std::string_view text) {
  int point = -1;
  if (text.starts_with(kPoint)) {
    const auto digits = text.substr(kPoint.size());
    std::from_chars(digits.data(), digits.data() + digits.size(), point);
  }
  return point;
}

double Landscape::best() const {
  double best = 1;
  for (const Point& point : points_)
    best = std::max(best, speedup_of(point.outcomes.rbegin()->second));
  return best;
}

double speedup_of(const candidate::Outcome& outcome) {
  const auto* scored = std::get_if<candidate::Scored>(&outcome);
  return scored == nullptr || scored->seconds <= 0 ? 0 : scored->baseline_seconds / scored->seconds;
}

}  // namespace cuco::search
